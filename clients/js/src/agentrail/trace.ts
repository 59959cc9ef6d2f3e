/** Traces of sessions. Calls are not awaited by Agentrail: what arrives while a request is under way leaves together in the next. */

import { Connection } from "../http/connection.js";
import { type ConnectionOptions, settingsOf } from "../http/settings.js";
import { AgentrailCalls, entriesOf, jsonOf, sessionPath } from "./calls.js";
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
    const queue = new Queue((envelopes) => {
      return calls.sendText(path, `{"envelopes":[${envelopes.join(",")}]}`);
    });
    return {
      appendEnvelope: (envelope) => queue.add(envelope),
      loadEnvelopes: async () => entriesOf<Envelope>(await calls.get(path), "envelopes"),
    };
  };
}

interface Waiting {
  /** JSON, made when it was called: the caller goes on with the event. */
  envelope: string;
  done: () => void;
  failed: (error: unknown) => void;
}

/** In the order of the calls, one request at a time, each with all that waits. The server leaves out ids that it has. */
class Queue {
  readonly #send: (envelopes: string[]) => Promise<unknown>;
  readonly #waiting: Waiting[] = [];
  #isSending = false;

  constructor(send: (envelopes: string[]) => Promise<unknown>) {
    this.#send = send;
  }

  add(envelope: object): Promise<void> {
    const added = new Promise<void>((done, failed) => {
      this.#waiting.push({ envelope: jsonOf(envelope, "envelope"), done, failed });
    });
    // Whoever does not wait for it must not be ended by its failure.
    added.catch(() => {});
    if (!this.#isSending) void this.#drain();
    return added;
  }

  async #drain(): Promise<void> {
    this.#isSending = true;
    // Calls of one turn of the event loop travel together.
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

  #next(): Waiting[] {
    let [count, size] = [0, 0];
    for (const { envelope } of this.#waiting) {
      size += envelope.length;
      if (count > 0 && (size > BATCH_BYTES_MAX || count >= BATCH_ENVELOPES_MAX)) break;
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }
}
