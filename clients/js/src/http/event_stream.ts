/** Server-sent events as they arrive, over connections that are lost. Sends nothing itself. */

import { ProtocolError } from "../errors.js";
import { Deadline, type Limits } from "./deadline.js";
import type { Opened } from "./download.js";
import { type Answer, mediaTypeOf, type SendFailure } from "./outcome.js";
import { Attempts } from "./retry.js";

/** The server shows every 15 seconds that it lives. */
const SILENCE_MS_MAX = 45_000;
const EVENT_CHARACTERS_MAX = 1 << 20;

/** `name` and `data` are empty where only the position moves on. */
export interface ServerEvent {
  id: string;
  name: string;
  data: string;
}

/** One attempt to open the stream behind a position. The canceller ends it, and the body that came of it. */
export type OpenEvents = (
  position: string | undefined,
  deadline: Deadline,
  canceller: AbortController,
) => Promise<Opened | Answer | SendFailure>;

/**
 * The events of one address. Opens with the first call of `next`, and again after a lost connection, behind the last position. A server
 * that is away is tried for the time of a call; then the typed error of the last attempt is thrown.
 */
export class EventStream {
  /** The position of the last event that was returned. */
  position: string | undefined;
  readonly #url: string;
  readonly #limits: Limits;
  readonly #open: OpenEvents;
  #attempts: Attempts;
  #deadline: Deadline | undefined;
  #canceller = new AbortController();
  #reader: ReadableStreamDefaultReader<Uint8Array> | undefined;
  #parser = new EventParser();
  #events: ServerEvent[] = [];
  #isFirst = true;
  #isClosed = false;

  constructor(url: string, limits: Limits, open: OpenEvents, position: string | undefined) {
    this.#url = url;
    this.#limits = limits;
    this.#open = open;
    this.position = position;
    this.#attempts = new Attempts(url, false);
  }

  /** The next event; undefined once this side has closed the stream. */
  async next(): Promise<ServerEvent | undefined> {
    while (!this.#isClosed) {
      const event = this.#events.shift();
      if (event) return this.#passed(event);
      this.#reader ??= await this.#connect();
      if (this.#reader) await this.#receive(this.#reader);
    }
    return undefined;
  }

  /** Ends the connection; a call of `next` that waits gets undefined. Can be repeated. */
  close(): void {
    this.#isClosed = true;
    this.#leave();
  }

  #passed(event: ServerEvent): ServerEvent {
    if (event.id !== "") this.position = event.id;
    // A stream that brings no more than its beginning may break again at once.
    if (!this.#isFirst) this.#attempts = new Attempts(this.#url, false);
    this.#isFirst = false;
    return event;
  }

  /** Attempts until a stream is open. Undefined where this side has closed it meanwhile. */
  async #connect(): Promise<ReadableStreamDefaultReader<Uint8Array> | undefined> {
    this.#deadline ??= new Deadline(this.#limits);
    const canceller = new AbortController();
    this.#canceller = canceller;
    const outcome = await this.#open(this.position, this.#deadline, canceller);
    if (this.#isClosed) {
      canceller.abort();
      return undefined;
    }
    if (!("response" in outcome)) {
      await this.#pause(outcome);
      return undefined;
    }
    const mediaType = mediaTypeOf(outcome.response.headers.get("content-type"));
    if (mediaType !== "text/event-stream") {
      canceller.abort();
      const found = mediaType || "of no media type";
      throw new ProtocolError(`the answer of ${this.#url} is ${found}, not server-sent events`);
    }
    this.#deadline = undefined;
    this.#parser = new EventParser();
    this.#isFirst = true;
    return outcome.body.getReader();
  }

  async #receive(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    const silence = new Deadline({ ...this.#limits, timeoutMs: SILENCE_MS_MAX });
    const part = await silence.during(() => reader.read(), this.#canceller);
    if (this.#isClosed || this.#reader !== reader) return;
    if (!("cause" in part) && !part.done) {
      this.#events.push(...this.#parser.take(part.value));
      return;
    }
    this.#leave();
    const ended = { cause: new Error("the server ended the stream"), timedOut: false };
    await this.#pause("cause" in part ? part : ended);
  }

  #leave(): void {
    this.#canceller.abort();
    this.#reader = undefined;
    this.#events = [];
  }

  async #pause(outcome: Answer | SendFailure): Promise<void> {
    this.#deadline ??= new Deadline(this.#limits);
    const attempt = { outcome, elapsedMs: 0, budgetMs: 0 };
    await this.#deadline.pause(this.#attempts.msUntilNext(attempt, this.#deadline.msLeft));
  }
}

/** Cuts what arrives into events. */
class EventParser {
  readonly #decoder = new TextDecoder();
  #text = "";

  take(bytes: Uint8Array): ServerEvent[] {
    const blocks = (this.#text + this.#decoder.decode(bytes, { stream: true })).split(/\r?\n\r?\n/);
    this.#text = blocks.pop() ?? "";
    if (this.#text.length > EVENT_CHARACTERS_MAX) throw new ProtocolError("an event does not end");
    return blocks.map(eventOf).filter(({ id, name }) => id !== "" || name !== "");
  }
}

/** The event of its lines. Comments, and fields that are not known, are left out. */
function eventOf(block: string): ServerEvent {
  const event = { id: "", name: "", data: [] as string[] };
  for (const line of block.split(/\r?\n/)) {
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "id") event.id = value;
    else if (field === "event") event.name = value;
    else if (field === "data") event.data.push(value);
  }
  return { ...event, data: event.data.join("\n") };
}
