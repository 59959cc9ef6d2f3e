/** How operations become requests: one, nearly always; reads before changes where the server's limits need several. */

import { InvalidError, ProtocolError } from "../errors.js";
import type { Connection } from "../http/connection.js";
import { Deadline } from "../http/deadline.js";
import { objectOf } from "../wire/answers.js";
import { packed } from "../wire/packing.js";
import { randomId } from "../wire/random_id.js";
import type { Body } from "../wire/schemas.js";
import { embed } from "./embedding.js";
import type { StoreIndex } from "./store_index.js";
import { errorIn, type Prepared, type Wire } from "./store_ops.js";

const BATCH = "/v1/store/batch";
export const OPS_MAX = 1_000;
const BATCH_BYTES_MAX = 16 * 1024 * 1024;

/** The result of one operation, or what went wrong with it. */
export type Outcome = { result: unknown } | { error: unknown };

interface Sending {
  atomic: boolean;
  changes: boolean;
  sizeBytes?: number;
  deadline: Deadline;
}

/** Sends operations over one connection. */
export class StoreCalls {
  readonly #connection: Connection;
  readonly #index: StoreIndex | undefined;

  constructor(connection: Connection, index?: StoreIndex) {
    this.#connection = connection;
    this.#index = index;
  }

  /**
   * All or nothing: reads see the state from before, changes happen all or none. Throws the first error. Where there are
   * several requests, reads are in the first ones, and each of the others is atomic by itself.
   */
  async together(ops: readonly Prepared[]): Promise<unknown[]> {
    await this.#embed(ops);
    const results = new Map<Prepared, unknown>();
    for (const part of partsOf(ops)) {
      const deadline = this.#connection.deadline();
      const answers = await this.#send(part, true, deadline);
      for (const [at, op] of part.entries()) {
        results.set(op, await this.#finished(op, answers[at] as object, deadline));
      }
    }
    return ops.map((op) => results.get(op));
  }

  /** Each operation for itself, in one request. Where vectors cannot be made, only the operations that need them fail. */
  async apart(ops: readonly Prepared[], deadline: Deadline): Promise<Outcome[]> {
    const failed = await this.#embedApart(ops);
    const ready = ops.filter((op) => !failed.has(op));
    const outcomes = ready.length === 0 ? [] : await this.#sendApart(ready, deadline);
    const done = new Map(ready.map((op, at) => [op, outcomes[at] as Outcome]));
    return ops.map((op) => done.get(op) ?? { error: failed.get(op) });
  }

  async #embed(ops: readonly Prepared[]): Promise<void> {
    const wants = ops.flatMap((op) => (op.wants ? [op.wants] : []));
    if (this.#index) await embed(wants, this.#index);
  }

  /** What went wrong with which: where embedding for all failed, each has its own error. */
  async #embedApart(ops: readonly Prepared[]): Promise<Map<Prepared, unknown>> {
    const failed = new Map<Prepared, unknown>();
    try {
      await this.#embed(ops);
      return failed;
    } catch (cause) {
      const waiting = ops.filter((op) => op.wants);
      if (waiting.length === 1) return new Map(waiting.map((op) => [op, cause]));
      const tries = waiting.map((op) => this.#embed([op]).catch((error) => failed.set(op, error)));
      await Promise.all(tries);
      return failed;
    }
  }

  async #sendApart(ops: readonly Prepared[], deadline: Deadline): Promise<Outcome[]> {
    let answers: object[];
    try {
      answers = await this.#send(ops, false, deadline);
    } catch (error) {
      // Nothing of it happened, and it may be about one of them only.
      if (!(error instanceof InvalidError) || ops.length === 1) return ops.map(() => ({ error }));
      const alone = await Promise.all(ops.map((op) => this.#sendApart([op], deadline)));
      return alone.flat();
    }
    return Promise.all(
      ops.map(async (op, at) => {
        try {
          return { result: await this.#finished(op, answers[at] as object, deadline) };
        } catch (error) {
          return { error };
        }
      }),
    );
  }

  async #finished(op: Prepared, answer: object, deadline: Deadline): Promise<unknown> {
    const error = errorIn(answer);
    if (error) throw error;
    return await op.finish(answer, async (wire) => {
      // Another request, so it has a time of its own.
      const own = new Deadline(deadline.limits);
      const [more] = await this.#sendWires([wire], {
        atomic: true,
        changes: false,
        deadline: own,
      });
      return more as object;
    });
  }

  #send(ops: readonly Prepared[], atomic: boolean, deadline: Deadline): Promise<object[]> {
    const changes = ops.some((op) => op.changes !== undefined);
    const sizeBytes = ops.reduce((sum, op) => sum + op.sizeBytes, 0);
    const wires = ops.map((op) => op.wire);
    return this.#sendWires(wires, { atomic, changes, sizeBytes, deadline });
  }

  async #sendWires(
    ops: Wire[],
    { atomic, changes, sizeBytes = 0, deadline }: Sending,
  ): Promise<object[]> {
    const body: Body<typeof BATCH> = { ops, atomic };
    const { results } = await this.#connection.call({
      path: BATCH,
      body: packed(body, sizeBytes),
      isWrite: changes,
      idempotencyKey: changes ? randomId() : undefined,
      deadline,
    });
    if (!Array.isArray(results) || results.length !== ops.length) {
      throw new ProtocolError("the answer does not hold a result for each operation");
    }
    return results.map((result) => objectOf(result, "results"));
  }
}

function partsOf(ops: readonly Prepared[]): Prepared[][] {
  const total = ops.reduce((sum, op) => sum + op.sizeBytes, 0);
  if (ops.length === 0) return [];
  if (ops.length <= OPS_MAX && total <= BATCH_BYTES_MAX) return [[...ops]];
  // Of several changes of one item the last one counts, also when they are in different requests.
  const last = new Map(ops.map((op) => [op.changes, op]));
  const reads = ops.filter((op) => op.changes === undefined);
  const changes = ops.filter((op) => op.changes !== undefined && last.get(op.changes) === op);
  return [...partsOfKind(reads), ...partsOfKind(changes)];
}

function partsOfKind(ops: readonly Prepared[]): Prepared[][] {
  const parts: Prepared[][] = [];
  let room = 0;
  for (const op of ops) {
    const part = parts.at(-1);
    if (part && part.length < OPS_MAX && op.sizeBytes <= room) {
      part.push(op);
      room -= op.sizeBytes;
    } else {
      parts.push([op]);
      room = BATCH_BYTES_MAX - op.sizeBytes;
    }
  }
  return parts;
}
