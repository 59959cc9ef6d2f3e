/**
 * Commits of one thread that wait together travel together. While a commit of a thread is under way, later ones of the same
 * thread queue; when it is done, all that queued leave as one request, in call order. Nothing waits for a timer, and a
 * commit that finds its thread idle leaves at once. Threads (the conversations) never wait for each other.
 *
 * A merged request that the server refuses is repeated one operation at a time, so that each caller gets the outcome of its
 * own operation.
 */

import { ThreadkeepError } from "../errors.js";
import type { Op } from "./encode.js";

export const OPS_MAX = 256;
export const BATCH_BYTES_MAX = 4 * 1024 * 1024;

/** Returns when the operations are durable, else throws. */
export type Send = (threadId: string, ops: readonly Op[]) => Promise<void>;

/** One call. Its operation is being serialized when it queues, so that the order is that of the calls. */
interface Waiter {
  preparing: Promise<void>;
  op: Op | undefined;
  hasFailed: boolean;
  resolve: () => void;
  reject: (reason: unknown) => void;
}

export class Commits {
  readonly #send: Send;
  readonly #lanes = new Map<string, Waiter[]>();

  constructor(send: Send) {
    this.#send = send;
  }

  /** Resolves when the operation is durable, else rejects with its own error. */
  commit(threadId: string, preparing: Promise<Op>): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        preparing: Promise.resolve(),
        op: undefined,
        hasFailed: false,
        resolve,
        reject,
      };
      waiter.preparing = preparing.then(
        (op) => {
          waiter.op = op;
        },
        (reason: unknown) => {
          waiter.hasFailed = true;
          reject(reason);
        },
      );
      const lane = this.#lanes.get(threadId);
      if (lane) {
        lane.push(waiter);
      } else {
        const started = [waiter];
        this.#lanes.set(threadId, started);
        void this.#drain(threadId, started);
      }
    });
  }

  /** Never rejects: every failure is a caller's. */
  async #drain(threadId: string, lane: Waiter[]): Promise<void> {
    for (;;) {
      await lane[0]?.preparing;
      const batch = take(lane);
      if (batch.length > 0) await this.#sendAll(threadId, batch);
      if (lane.length === 0) {
        this.#lanes.delete(threadId);
        return;
      }
    }
  }

  async #sendAll(threadId: string, batch: readonly Ready[]): Promise<void> {
    const failure = await this.#sendSome(threadId, batch);
    if (failure === undefined) {
      for (const waiter of batch) waiter.resolve();
    } else if (batch.length > 1 && isRefusal(failure.reason)) {
      for (const waiter of batch) await this.#sendAll(threadId, [waiter]);
    } else {
      for (const waiter of batch) waiter.reject(failure.reason);
    }
  }

  async #sendSome(
    threadId: string,
    batch: readonly Ready[],
  ): Promise<{ reason: unknown } | undefined> {
    try {
      await this.#send(
        threadId,
        batch.map((waiter) => waiter.op),
      );
      return undefined;
    } catch (reason) {
      return { reason };
    }
  }
}

type Ready = Waiter & { op: Op };

/** The next batch: what is ready from the head on, within the limits of a request. The unserializable are dropped. */
function take(lane: Waiter[]): Ready[] {
  const batch: Ready[] = [];
  let sizeBytes = 0;
  for (let [head] = lane; head && batch.length < OPS_MAX; [head] = lane) {
    if (isReady(head)) {
      sizeBytes += head.op.sizeBytes;
      if (batch.length > 0 && sizeBytes > BATCH_BYTES_MAX) break;
      batch.push(head);
    } else if (!head.hasFailed) {
      break;
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
