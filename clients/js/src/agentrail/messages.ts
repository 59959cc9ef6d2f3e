/** The visible log of a session, and what of it is loaded. */

import { randomId } from "../wire/random_id.js";
import { type AgentrailCalls, type Answer, entriesOf, numberOf, sessionPath } from "./calls.js";
import type { Message } from "./contract.js";
import type { SessionPlace } from "./session_ref.js";
import { tokensOfMessages, withinBudget } from "./tokens.js";

/** How many of the newest are asked for at first, where a budget will most likely take fewer. */
const TAIL_MESSAGES = 100;
const TAIL_GROWTH = 4;

/** Where a log stood when it was read: its messages have the numbers up to `head` without a gap. */
export interface Extent {
  head: number;
  count: number;
}

export interface Log extends Extent {
  messages: Message[];
}

export class Messages {
  readonly #calls: AgentrailCalls;
  /** Where the log stood of which a list is all. */
  readonly #whole = new WeakMap<Message[], Extent>();

  constructor(calls: AgentrailCalls) {
    this.#calls = calls;
  }

  /** All of it, or its newest. Nothing, for a session that does not exist. */
  async load(place: SessionPlace, limit?: number): Promise<Log> {
    const query = limit === undefined ? "" : `?limit=${limit}`;
    const answer = await this.#calls.find(sessionPath(place, "messages") + query);
    const log = answer ? logIn(answer) : { messages: [], head: 0, count: 0 };
    if (limit === undefined) {
      this.#whole.set(log.messages, { head: log.head, count: log.messages.length });
    }
    return log;
  }

  /** A list that `load` answered as a whole, and that nobody changed since; anything else is read anew. */
  async whole(place: SessionPlace, messages: Message[] | undefined): Promise<Log> {
    const extent = messages && this.#whole.get(messages);
    if (messages && extent && extent.count === messages.length) return { messages, ...extent };
    return await this.load(place);
  }

  /** The newest that fit, without reading more of a long log than about that. */
  async withinBudget(place: SessionPlace, tokenBudget: number): Promise<Message[]> {
    for (let limit = TAIL_MESSAGES; ; limit *= TAIL_GROWTH) {
      const { messages } = await this.load(place, limit);
      const isAll = messages.length < limit;
      if (isAll || tokensOfMessages(messages) > tokenBudget) {
        return withinBudget(messages, tokenBudget);
      }
    }
  }

  /** In their order, all or none. */
  async append(place: SessionPlace, messages: readonly Message[]): Promise<void> {
    if (messages.length === 0) return;
    const idempotencyKey = randomId();
    await this.#calls.send(sessionPath(place, "messages"), { messages }, { idempotencyKey });
  }
}

function logIn(answer: Answer): Log {
  return {
    messages: entriesOf<Message>(answer, "messages"),
    head: numberOf(answer, "headSeq"),
    count: numberOf(answer, "count"),
  };
}
