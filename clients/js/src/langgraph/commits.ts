/**
 * Commits of one thread that wait together travel together. While a commit of a thread is under way, later ones of the same
 * thread queue; when it is done, all that queued leave as one request, in call order. Nothing waits for a timer, and a
 * commit that finds its thread idle leaves at once. Threads (the conversations) never wait for each other.
 *
 * A merged request that the server refuses is repeated one operation at a time, so that each caller gets the outcome of its
 * own operation.
 *
 * A caller whose time is over, or who gives up, leaves alone: its operation leaves the queue, or stays in the request under
 * way, which is cancelled when nobody waits for it any more.
 */

import { ThreadkeepError } from "../errors.js";
import type { Deadline } from "../http/deadline.js";
import { jointDeadline, Waiting } from "../http/waiting.js";
import type { Op } from "./encode.js";

export const OPS_MAX = 256;
export const BATCH_BYTES_MAX = 4 * 1024 * 1024;

/** Returns when the operations are durable, else throws. */
export type Send = (threadId: string, ops: readonly Op[], deadline: Deadline) => Promise<void>;

/** One call. Its operation is being serialized when it queues, so that the order is that of the calls. */
class Waiter extends Waiting<void> {
  preparing: Promise<void> = Promise.resolve();
  op: Op | undefined;
}

/** The calls of one thread that wait, and the time of the request under way. */
interface Lane {
  waiters: Waiter[];
  underWay: Deadline | undefined;
}

export class Commits {
  readonly #send: Send;
  readonly #url: string;
  readonly #lanes = new Map<string, Lane>();

  constructor(url: string, send: Send) {
    this.#url = url;
    this.#send = send;
  }

  /** Resolves when the operation is durable, or there is none; else rejects with its own error. */
  commit(threadId: string, preparing: Promise<Op | undefined>, deadline: Deadline): Promise<void> {
    const waiter = new Waiter(deadline, this.#url);
    waiter.preparing = preparing.then(
      (op) => {
        if (op) waiter.op = op;
        else waiter.resolve();
      },
      (reason: unknown) => waiter.reject(reason),
    );
    const lane = this.#lanes.get(threadId);
    if (lane) {
      lane.waiters.push(waiter);
      if (mayLeave(waiter, lane)) waiter.watch();
    } else {
      const started = { waiters: [waiter], underWay: undefined };
      this.#lanes.set(threadId, started);
      void this.#drain(threadId, started);
    }
    return waiter.promise;
  }

  /** Never rejects: every failure is a caller's. */
  async #drain(threadId: string, lane: Lane): Promise<void> {
    for (;;) {
      await lane.waiters[0]?.preparing;
      const batch = take(lane.waiters);
      if (batch.length > 0) await this.#sendAll(threadId, lane, batch);
      if (lane.waiters.length === 0) {
        this.#lanes.delete(threadId);
        return;
      }
    }
  }

  async #sendAll(threadId: string, lane: Lane, batch: readonly Ready[]): Promise<void> {
    const failure = await this.#sendSome(threadId, lane, batch);
    if (failure === undefined) {
      for (const waiter of batch) waiter.resolve();
    } else if (batch.length > 1 && isRefusal(failure.reason)) {
      for (const waiter of batch) {
        if (!waiter.isSettled) await this.#sendAll(threadId, lane, [waiter]);
      }
    } else {
      for (const waiter of batch) waiter.reject(failure.reason);
    }
  }

  async #sendSome(
    threadId: string,
    lane: Lane,
    batch: readonly Ready[],
  ): Promise<{ reason: unknown } | undefined> {
    try {
      const ops = batch.map((waiter) => waiter.op);
      lane.underWay = jointDeadline(batch);
      await this.#send(threadId, ops, lane.underWay);
      return undefined;
    } catch (reason) {
      return { reason };
    }
  }
}

/** Whether a caller may give up before the request under way ends, or has less time than that. */
function mayLeave({ deadline }: Waiter, { underWay }: Lane): boolean {
  if (deadline.limits.signal) return true;
  return underWay !== undefined && deadline.msLeft < underWay.msLeft;
}

type Ready = Waiter & { op: Op };

/** The next batch: what is ready from the head on, within the limits of a request. Whoever has left is dropped. */
function take(lane: Waiter[]): Ready[] {
  const batch: Ready[] = [];
  let sizeBytes = 0;
  for (let [head] = lane; head && batch.length < OPS_MAX; [head] = lane) {
    if (!head.isSettled && head.deadline.msLeft <= 0) head.expire();
    if (!head.isSettled) {
      if (!isReady(head)) break;
      sizeBytes += head.op.sizeBytes;
      if (batch.length > 0 && sizeBytes > BATCH_BYTES_MAX) break;
      batch.push(head);
    }
    lane.shift();
  }
  return batch;
}

function isReady(waiter: Waiter): waiter is Ready {
  return waiter.op !== undefined;
}

/** The server understood and refused: one operation may be the cause for all. */
function isRefusal(error: unknown): boolean {
  const status = error instanceof ThreadkeepError ? error.status : undefined;
  return status !== undefined && status >= 400 && status < 500 && ![401, 403, 429].includes(status);
}
