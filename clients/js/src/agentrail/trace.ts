/** Traces of sessions. Calls are not awaited by Agentrail: what arrives while a request is under way leaves together in the next. */

import { Connection } from "../http/connection.js";
import { type ConnectionOptions, settingsOf } from "../http/settings.js";
import { AgentrailCalls, entriesOf, sessionPath } from "./calls.js";
import type { SessionTraceStore, TraceEnvelope } from "./contract.js";
import { placeOf } from "./session_ref.js";

const BATCH_ENVELOPES_MAX = 500;
const BATCH_BYTES_MAX = 1024 * 1024;

/** Makes the trace store of a session, as `traceStoreFactory` of Agentrail's options. */
export function createTraceStoreFactory<Envelope extends object = TraceEnvelope>(
  options: ConnectionOptions = {},
): (sessionRef: string) => SessionTraceStore<Envelope> {
  const calls = new AgentrailCalls(new Connection(settingsOf(options)));
  return (sessionRef) => {
    const path = sessionPath(placeOf(sessionRef), "trace");
    const queue = new Queue<Envelope>((envelopes) => calls.send(path, { envelopes }));
    return {
      appendEnvelope: (envelope) => queue.add(envelope),
      loadEnvelopes: async () => entriesOf<Envelope>(await calls.get(path), "envelopes"),
    };
  };
}

interface Waiting<Envelope> {
  envelope: Envelope;
  sizeBytes: number;
  done: () => void;
  failed: (error: unknown) => void;
}

/** In the order of the calls, one request at a time, each with all that waits. The server leaves out ids that it has. */
class Queue<Envelope extends object> {
  readonly #send: (envelopes: Envelope[]) => Promise<unknown>;
  #waiting: Waiting<Envelope>[] = [];
  #isSending = false;

  constructor(send: (envelopes: Envelope[]) => Promise<unknown>) {
    this.#send = send;
  }

  add(envelope: Envelope): Promise<void> {
    // A copy made now: the caller goes on with the event.
    const text = JSON.stringify(envelope);
    const added = new Promise<void>((done, failed) => {
      const copy = JSON.parse(text) as Envelope;
      this.#waiting.push({ envelope: copy, sizeBytes: text.length, done, failed });
    });
    // Whoever does not wait for it must not be ended by its failure.
    added.catch(() => {});
    if (!this.#isSending) void this.#drain();
    return added;
  }

  async #drain(): Promise<void> {
    this.#isSending = true;
    // Once round the event loop's queue: calls of one turn travel together.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#next();
      try {
        await this.#send(batch.map(({ envelope }) => envelope));
        for (const { done } of batch) done();
      } catch (error) {
        for (const { failed } of batch) failed(error);
      }
    }
    this.#isSending = false;
  }

  #next(): Waiting<Envelope>[] {
    let [count, bytes] = [0, 0];
    for (const { sizeBytes } of this.#waiting) {
      bytes += sizeBytes;
      if (count > 0 && (bytes > BATCH_BYTES_MAX || count >= BATCH_ENVELOPES_MAX)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }
}
