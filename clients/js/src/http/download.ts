/** A body as it arrives, which goes on where a lost connection left it. Sends nothing itself. */

import { TransportError } from "../errors.js";
import { Deadline, type Limits } from "./deadline.js";
import { type Answer, errorOf, type SendFailure } from "./outcome.js";
import { Attempts } from "./retry.js";

/** A success whose body was not read yet. */
export interface Opened {
  response: Response;
  body: ReadableStream<Uint8Array>;
}

/** One attempt, with these headers beside its own. The canceller ends it, and the body that came of it. */
export type Open = (
  headers: Record<string, string>,
  deadline: Deadline,
  canceller: AbortController,
) => Promise<Opened | Answer | SendFailure>;

/**
 * Opens until there is a success. The stream asks for the rest when a connection is lost, or brings nothing for half the time of a
 * call; what never comes is its typed error. What moves forward is no failed attempt.
 */
export async function downloaded(
  url: string,
  limits: Limits,
  open: Open,
): Promise<ReadableStream<Uint8Array>> {
  const download = new Download(url, limits, open);
  await download.ask();
  return new ReadableStream(
    {
      async pull(controller) {
        const bytes = await download.next();
        if (bytes) controller.enqueue(bytes);
        else controller.close();
      },
      cancel: () => download.cancel(),
    },
    // Nothing is read before somebody wants it, so a slow reader is no silent server.
    { highWaterMark: 0 },
  );
}

class Download {
  readonly #url: string;
  readonly #limits: Limits;
  readonly #open: Open;
  #attempts: Attempts;
  #deadline: Deadline;
  #canceller = new AbortController();
  #isCancelled = false;
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  /** Of the state that is being received; undefined: there is no going on. */
  #etag: string | undefined;
  /** Of all of it, where that is known. */
  #sizeBytes: number | undefined;
  /** Given to the reader. */
  #givenBytes = 0;
  /** Where the body that is being read stands. */
  #atBytes = 0;

  constructor(url: string, limits: Limits, open: Open) {
    this.#url = url;
    this.#limits = limits;
    this.#open = open;
    this.#attempts = new Attempts(url, false);
    this.#deadline = new Deadline(limits);
  }

  /** Sends until there is a body. */
  async ask(): Promise<void> {
    for (;;) {
      if (this.#isCancelled) throw new TransportError("nobody reads any more");
      this.#canceller = new AbortController();
      const outcome = await this.#open(this.#headers(), this.#deadline, this.#canceller);
      if ("response" in outcome) return this.#take(outcome);
      await this.#pause(outcome);
    }
  }

  /** Bytes, at least one; undefined behind the last one. */
  async next(): Promise<Uint8Array | undefined> {
    this.#deadline = new Deadline(this.#limits);
    for (;;) {
      const part = await this.#read();
      if ("cause" in part) {
        if (this.#givenBytes === this.#sizeBytes) return undefined;
        if (this.#etag === undefined && this.#givenBytes > 0) throw errorOf(part, this.#url);
        await this.#pause(part);
        await this.ask();
        continue;
      }
      if (part.done) return undefined;
      // Of a whole body instead of its rest, the beginning was given before.
      const bytes = part.value.subarray(Math.max(0, this.#givenBytes - this.#atBytes));
      this.#atBytes += part.value.length;
      if (bytes.length === 0) continue;
      this.#givenBytes += bytes.length;
      this.#attempts = new Attempts(this.#url, false);
      return bytes;
    }
  }

  cancel(): void {
    this.#isCancelled = true;
    this.#canceller.abort();
  }

  #headers(): Record<string, string> {
    // Of packed bytes nobody knows which are left.
    const headers = { "accept-encoding": "identity" };
    if (this.#etag === undefined || this.#givenBytes === 0) return headers;
    return { ...headers, range: `bytes=${this.#givenBytes}-`, "if-range": this.#etag };
  }

  #take({ response, body }: Opened): void {
    const isPlain = (response.headers.get("content-encoding") ?? "identity") === "identity";
    const etag = isPlain ? strong(response.headers.get("etag")) : undefined;
    const isRest = response.status === 206;
    if (this.#givenBytes > 0 && !isRest && etag !== this.#etag) {
      this.#canceller.abort();
      throw new TransportError("the connection was lost, and what is there has changed since");
    }
    const length = response.headers.get("content-length");
    this.#atBytes = isRest ? this.#givenBytes : 0;
    this.#sizeBytes = isPlain && length !== null ? this.#atBytes + Number(length) : undefined;
    this.#etag = etag;
    this.#reader = body.getReader();
  }

  async #read(): Promise<ReadableStreamReadResult<Uint8Array> | SendFailure> {
    const reader = this.#reader as ReadableStreamDefaultReader<Uint8Array>;
    const idleMs = this.#limits.timeoutMs / 2;
    const part = await this.#deadline.during(() => reader.read(), this.#canceller, idleMs);
    if ("cause" in part || !part.done) return part;
    const isShort = this.#sizeBytes !== undefined && this.#atBytes < this.#sizeBytes;
    return isShort ? { cause: new Error("the answer ended too early"), timedOut: false } : part;
  }

  async #pause(outcome: Answer | SendFailure): Promise<void> {
    const attempt = { outcome, elapsedMs: 0, budgetMs: 0 };
    await this.#deadline.pause(this.#attempts.msUntilNext(attempt, this.#deadline.msLeft));
  }
}

/** A weak one names no bytes. */
function strong(etag: string | null): string | undefined {
  return etag?.startsWith('"') ? etag : undefined;
}
