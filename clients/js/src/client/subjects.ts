/** `client.subjects`: whom keys and tokens speak for, and what is theirs. */

import type { CallOptions } from "../http/deadline.js";
import type { Calls } from "./calls.js";
import { type ErasureReceipt, erasureReceipt, type SubjectPage, subjectPage } from "./records.js";

export interface ListSubjectsOptions extends CallOptions {
  limit?: number | undefined;
  cursor?: string | undefined;
}

export class Subjects {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /**
   * One page of the subjects that have keys, threads, sessions or snapshots, in the order of their bytes, at most 100. For credentials of
   * the whole tenant.
   */
  async list(options: ListSubjectsOptions = {}): Promise<SubjectPage> {
    const { limit, cursor } = options;
    return subjectPage(await this.#calls.with(options).get("/v1/subjects", { limit, cursor }));
  }

  /**
   * Erase a subject: its keys, its threads with everything in them, its items. Needs a key of the whole tenant. Repeat it
   * after a failure: it removes the rest. Revoke tokens of the subject first.
   */
  async delete(subject: string): Promise<ErasureReceipt> {
    return erasureReceipt(await this.#calls.delete("/v1/subjects", { subject }));
  }
}
