/** `client.checkpoints`: checkpoints as they are stored, their values and states as plain JSON, and their removal. */

import { InvalidError } from "../errors.js";
import type { CallOptions } from "../http/deadline.js";
import type { Integers } from "../wire/document_value.js";
import { idOf, threadIdOf } from "../wire/ids.js";
import { jsonTextAt } from "../wire/json_text.js";
import {
  optionalPositiveNumber,
  optionalSignedNumber,
  optionalWholeNumber,
} from "../wire/numbers.js";
import { exact } from "../wire/packing.js";
import type { Calls } from "./calls.js";
import {
  type Checkpoint,
  type CheckpointPage,
  type CheckpointValues,
  checkpoint,
  checkpointPage,
  checkpointValues,
  type State,
  state,
  type TimelinePage,
  timelinePage,
} from "./checkpoint_records.js";
import { entriesOf } from "./pages.js";
import {
  nothingPruned,
  type PruneOptions,
  type PruneReport,
  pruneBody,
  pruneReport,
  runIdsOf,
} from "./prune.js";
import type { Metadata } from "./thread_records.js";

/** Conditions on checkpoints. All must hold. */
export interface CheckpointConditions extends CallOptions {
  /** Absent: every thread that the caller may read. */
  threadId?: string | undefined;
  /** "" is the root graph. Absent: any. */
  checkpointNs?: string | undefined;
  checkpointId?: string | undefined;
  /** Ids that are smaller, in the order of their bytes. */
  before?: string | undefined;
  /** Fields that their metadata contains. */
  filter?: Readonly<Metadata> | undefined;
  /** True: with the stored values and writes, as bytes. Default false. */
  values?: boolean | undefined;
}

export interface ListCheckpointsOptions extends CheckpointConditions {
  /** Checkpoints of one page, at most 1,000; a page ends at about 4 MiB. */
  limit?: number | undefined;
  /** `nextCursor` of the page before, with the same arguments. */
  cursor?: string | undefined;
}

/** Which steps of a thread. */
export interface TimelineOptions extends CallOptions {
  /** Absent: the root graph. "*": every namespace. */
  checkpointNs?: string | undefined;
  /** Ids that are smaller, in the order of their bytes. */
  before?: string | undefined;
  /** Ids that are greater. */
  after?: string | undefined;
  /** Steps of one page, from 1 to 1,000. */
  limit?: number | undefined;
  /** `nextCursor` of the page before, with the same arguments. */
  cursor?: string | undefined;
}

export interface ScanCheckpointsOptions extends CheckpointConditions {
  /** Checkpoints of one request. Default: the server's. */
  pageCheckpoints?: number | undefined;
}

/** A checkpoint of a thread. */
export interface CheckpointOptions extends CallOptions {
  /** Absent: the root graph. */
  checkpointNs?: string | undefined;
  /** Absent: the newest, the greatest id by the order of bytes. */
  checkpointId?: string | undefined;
}

export interface ShownOptions extends CheckpointOptions {
  /** Also the stored bytes, with the tag of their codec. Default false. */
  raw?: boolean | undefined;
  /** Whole numbers that a `number` would change: "number" (the default) rounds them, "bigint" keeps them. */
  integers?: Integers | undefined;
  /** Cuts longer texts: bytes of UTF-8. What is cut is `{ $cut: { size_bytes, head, pointer } }`, lists and objects with `length` and `from`. */
  stringBytesMax?: number | undefined;
  /** Cuts longer lists, and objects with more fields, at any depth. */
  itemsMax?: number | undefined;
  /** Where the list or object of each channel begins to be shown. Below zero it counts from the end. */
  from?: number | undefined;
  /** Only this place of the values, as a JSON Pointer that begins with the channel: "/messages/3/content". */
  pointer?: string | undefined;
}

export interface ValuesOptions extends ShownOptions {
  /** Only these. Absent: all. */
  channels?: readonly string[] | undefined;
}

/** Undefined means that there is no such checkpoint, or that its thread is not the caller's. */
export class Checkpoints {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** One page, newest first. TooLargeError where a value is too large for an answer: list without values. */
  async list(options: ListCheckpointsOptions = {}): Promise<CheckpointPage> {
    const { threadId, checkpointNs, checkpointId, before, filter, values = false } = options;
    const { limit, cursor } = options;
    const body = {
      thread_id: threadId === undefined ? undefined : threadIdOf(threadId),
      checkpoint_ns: textOf(checkpointNs, "checkpointNs"),
      checkpoint_id: textOf(checkpointId, "checkpointId"),
      before: textOf(before, "before"),
      filter: filter && exact(filter, "filter"),
      values,
      limit: optionalWholeNumber(limit, "limit"),
      cursor,
    };
    return checkpointPage(await this.#calls.with(options).read("/v1/checkpoints/list", body));
  }

  /** Every checkpoint that meets the conditions, newest first. A page is asked for when the one before is used up. */
  async *scan(options: ScanCheckpointsOptions = {}): AsyncGenerator<Checkpoint, void, undefined> {
    const { pageCheckpoints, ...conditions } = options;
    const limit = optionalPositiveNumber(pageCheckpoints, "pageCheckpoints");
    yield* entriesOf(
      (cursor) => this.list({ ...conditions, limit, cursor }),
      (page) => page.checkpoints,
    );
  }

  /** One page of the steps of a thread, newest first, without their values. Without `generation` there is no such thread. */
  async timeline(threadId: string, options: TimelineOptions = {}): Promise<TimelinePage> {
    const { checkpointNs, before, after, limit, cursor } = options;
    const body = {
      thread_id: threadIdOf(threadId),
      checkpoint_ns: textOf(checkpointNs, "checkpointNs"),
      before: textOf(before, "before"),
      after: textOf(after, "after"),
      limit: optionalPositiveNumber(limit, "limit"),
      cursor,
    };
    return timelinePage(await this.#calls.with(options).read("/v1/checkpoints/timeline", body));
  }

  /** A checkpoint with its stored values and writes, as bytes. TooLargeError where they do not fit into an answer. */
  async get(threadId: string, options: CheckpointOptions = {}): Promise<Checkpoint | undefined> {
    const body = {
      thread_id: threadIdOf(threadId),
      checkpoint_ns: textOf(options.checkpointNs, "checkpointNs"),
      checkpoint_id: textOf(options.checkpointId, "checkpointId"),
    };
    const answer = await this.#calls.with(options).read("/v1/checkpoints/get", body);
    return answer.checkpoint ? checkpoint(answer.checkpoint) : undefined;
  }

  /** The values of a checkpoint as plain JSON, those of channels that are the graph's own affair too. */
  async values(
    threadId: string,
    options: ValuesOptions = {},
  ): Promise<CheckpointValues | undefined> {
    const channel = options.channels?.map((name) => idOf(name, "channels"));
    if (channel?.length === 0) {
      const detail = "channels names none: leave it out for all of them";
      throw new InvalidError(detail, { field: "channels" });
    }
    const query = { ...shownQuery(threadId, options), channel };
    const { integers = "number" } = options;
    const answer = await this.#calls
      .with(options)
      .getJson("/v1/checkpoints/values", query, integers);
    return answer.checkpoint ? checkpointValues(answer.checkpoint) : undefined;
  }

  /**
   * The JSON text of one place of the values, as the server shows it and never cut: `1.0` stays `1.0` there, and whole numbers keep all
   * digits. `pointer` is a JSON Pointer that begins with the channel. Undefined also means that there is no such place.
   */
  async valueText(
    threadId: string,
    pointer: string,
    options: CheckpointOptions = {},
  ): Promise<string | undefined> {
    const query = shownQuery(threadId, { ...options, pointer });
    const answer = await this.#calls.with(options).getJsonText("/v1/checkpoints/values", query);
    return jsonTextAt(answer, ["checkpoint", "channels", 0, "value"]);
  }

  /** A state as the graph's `get_state` tells it, with tasks, interrupts and pending writes, as plain JSON. */
  async state(threadId: string, options: ShownOptions = {}): Promise<State | undefined> {
    const query = shownQuery(threadId, options);
    const { integers = "number" } = options;
    const answer = await this.#calls.with(options).getJson("/v1/state", query, integers);
    return answer.state ? state(answer.state) : undefined;
  }

  /** Remove checkpoints, but for the `keepLast` newest of each namespace (1 by default). LeaseHeldError where a lease is held. */
  async prune(threadIds: readonly string[], options: PruneOptions = {}): Promise<PruneReport> {
    const body = pruneBody(threadIds, options);
    if (body.thread_ids.length === 0) return nothingPruned(options.dryRun === true);
    return pruneReport(await this.#calls.with(options).write("/v1/checkpoints/prune", body));
  }

  /**
   * Remove the checkpoints, in all threads that the caller may write to, whose metadata has one of these as `run_id`. Checkpoints that
   * stay keep their state. LeaseHeldError where a lease is held.
   */
  async deleteForRuns(runIds: readonly string[], options: CallOptions = {}): Promise<void> {
    const run_ids = runIdsOf(runIds);
    if (run_ids.length === 0) return;
    await this.#calls.with(options).write("/v1/checkpoints/delete-for-runs", { run_ids });
  }
}

function shownQuery(threadId: string, options: ShownOptions) {
  const { checkpointNs, checkpointId, raw, stringBytesMax, itemsMax, from, pointer } = options;
  return {
    thread_id: threadIdOf(threadId),
    checkpoint_ns: textOf(checkpointNs, "checkpointNs"),
    checkpoint_id: textOf(checkpointId, "checkpointId"),
    raw,
    string_bytes_max: optionalWholeNumber(stringBytesMax, "stringBytesMax"),
    items_max: optionalWholeNumber(itemsMax, "itemsMax"),
    from: optionalSignedNumber(from, "from"),
    pointer,
  };
}

function textOf(value: string | undefined, field: string): string | undefined {
  return value === undefined ? undefined : idOf(value, field);
}
