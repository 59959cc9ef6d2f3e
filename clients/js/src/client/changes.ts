/** `client.store.changes` and `client.threads.changes`: follow the changes of items and of threads. */

import {
  KeyDestroyedError,
  NotGrantedError,
  PositionGoneError,
  ProtocolError,
  UnauthorizedError,
} from "../errors.js";
import type { CallOptions } from "../http/deadline.js";
import type { EventStream, ServerEvent } from "../http/event_stream.js";
import { errorOfProblem } from "../problems.js";
import { number, optionalText, recordOf, text, texts, time } from "../wire/records.js";
import type { Schemas } from "../wire/schemas.js";

export interface ChangesOptions extends CallOptions {
  /** Only the namespace itself, nothing below it. */
  exact?: boolean | undefined;
  /** The position of an earlier event: the feed goes on after it. Absent: from now on. */
  after?: string | undefined;
}

export interface ThreadChangesOptions extends CallOptions {
  /** Only these threads, at most 100. Absent: all that may be read. */
  ids?: readonly string[] | undefined;
  /** Only threads whose id begins with it. */
  prefix?: string | undefined;
  /** The position of an earlier event: the feed goes on after it. Absent: from now on. */
  after?: string | undefined;
}

type ThreadStatus = Schemas["ThreadStatus"];

interface ToldItem {
  namespace: string[];
  key: string;
  version: number;
  kind: string;
}

const itemFields = recordOf<ToldItem>()("a change", {
  namespace: texts,
  key: text,
  version: number,
  kind: text,
});

interface ToldThread {
  thread_id: string;
  generation: string;
  kind: string;
  updated_at: string;
  status?: ThreadStatus;
}

const threadFields = recordOf<ToldThread>()("a change", {
  thread_id: text,
  generation: text,
  kind: text,
  updated_at: time,
  status: (raw, name) => optionalText(raw, name) as ThreadStatus | undefined,
});

/** An event that tells of no change. */
type Other = { type: "ready"; position: string } | { type: "resync"; position: string | undefined };

/**
 * One event of the feed. With its `position`, `after` goes on behind it.
 *
 * - `ready`: the stream is open. Changes from then on are told, so list the items after the first one. It comes again after a lost
 *   connection, and then nothing was missed.
 * - `change`: an item was put or deleted, or has expired; its value is not told. `version` is the one that a put made, else the one that is
 *   gone. Some come twice. Of several puts in quick succession only the last may be told.
 * - `resync`: changes were left out. List the items anew. Without a position, the feed begins anew with the next `ready`.
 */
export type ItemChange =
  | Other
  | {
      type: "change";
      position: string;
      namespace: string[];
      key: string;
      version: number;
      kind: "put" | "delete" | "expire";
    };

/**
 * One event of the feed of threads. With its `position`, `after` goes on behind it.
 *
 * - `ready`: the stream is open. What changes from then on is told, on whatever server it happens, so read the threads after the first one.
 *   It comes again after a lost connection, and then nothing was missed.
 * - `change`: a thread was made or something of it changed, or it was deleted. Several changes in quick succession are one event. The
 *   `status` is there as soon as it is known, which may be another event.
 * - `resync`: changes were left out. Read the threads anew. Without a position, the feed begins anew with the next `ready`.
 */
export type ThreadChange =
  | Other
  | {
      type: "change";
      position: string;
      threadId: string;
      generation: string;
      kind: "update" | "delete";
      updatedAt: Date;
      status?: ThreadStatus | undefined;
    };

type ChangedItem = Extract<ItemChange, { type: "change" }>;
type ChangedThread = Extract<ThreadChange, { type: "change" }>;

/**
 * A feed, for `for await`. Opens a stream with the first event that is asked for, and never ends by itself: leave the loop, `close`
 * it, or abort its signal, whose reason is thrown then. A connection that is lost is opened anew behind the last position. One event is
 * asked for at a time.
 *
 * Throws PositionGoneError where `after` is older than 24 hours, UnauthorizedError or NotGrantedError where the key or token ends, and
 * TransportError or UnavailableError where no server answers for `timeoutMs`.
 */
abstract class Changes<Change>
  implements AsyncIterableIterator<Change | Other, undefined, undefined>
{
  readonly #events: EventStream;
  #wasOpen = false;

  constructor(events: EventStream) {
    this.#events = events;
  }

  /** Undefined for a change of a kind that this version does not know. */
  protected abstract read(data: object, position: string): Change | undefined;

  /** The position of the last event that was returned; give it as `after` to go on from here. */
  get position(): string | undefined {
    return this.#events.position;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Change | Other, undefined>> {
    try {
      for (;;) {
        const event = await this.#events.next();
        if (event === undefined) return { done: true, value: undefined };
        const value = this.#changeOf(event);
        if (value) return { done: false, value };
      }
    } catch (error) {
      if (error instanceof PositionGoneError && this.#wasOpen) {
        return { done: false, value: this.#beginAnew() };
      }
      this.close();
      throw error;
    }
  }

  /** Ends it, as leaving a loop does. */
  async return(): Promise<IteratorResult<Change | Other, undefined>> {
    this.close();
    return { done: true, value: undefined };
  }

  /** Ends it; a call of `next` that waits is done then. Can be repeated. */
  close(): void {
    this.#events.close();
  }

  /** This follower was away for too long. */
  #beginAnew(): Other {
    this.#events.position = undefined;
    return { type: "resync", position: undefined };
  }

  /** Undefined for an event that tells nothing. Throws the error that ends the feed for good. */
  #changeOf({ id, name, data }: ServerEvent): Change | Other | undefined {
    this.#wasOpen = true;
    switch (name) {
      case "ready":
        return { type: "ready", position: id };
      case "resync":
        return { type: "resync", position: id };
      case "change":
        return this.read(jsonOf(data), id);
      case "end":
        throwEnd(data);
        return undefined;
      default:
        return undefined;
    }
  }
}

/** Changes of items. */
export class ItemChanges extends Changes<ChangedItem> {
  protected read(data: object, position: string): ChangedItem | undefined {
    const { kind, ...change } = itemFields(data);
    if (kind !== "put" && kind !== "delete" && kind !== "expire") return undefined;
    return { type: "change", position, kind, ...change };
  }
}

/** Threads that have changed. */
export class ThreadChanges extends Changes<ChangedThread> {
  protected read(data: object, position: string): ChangedThread | undefined {
    const { kind, ...change } = threadFields(data);
    if (kind !== "update" && kind !== "delete") return undefined;
    return { type: "change", position, kind, ...change };
  }
}

/** A server that stops, or has no room, is asked again; a credential that has ended is not. */
function throwEnd(data: string): void {
  const { code } = jsonOf(data) as { code?: unknown };
  const detail = "the server has ended the stream of changes";
  const error = errorOfProblem(undefined, { code, detail });
  const isFinal =
    error instanceof UnauthorizedError ||
    error instanceof NotGrantedError ||
    error instanceof KeyDestroyedError ||
    error instanceof PositionGoneError;
  if (isFinal) throw error;
}

function jsonOf(data: string): object {
  let found: unknown;
  try {
    found = JSON.parse(data);
  } catch (cause) {
    throw new ProtocolError("an event of the server is not JSON", { cause });
  }
  if (typeof found === "object" && found !== null) return found;
  throw new ProtocolError("an event of the server is no object");
}
