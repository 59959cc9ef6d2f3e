/** What a saver's calls share: the connection, the memory, the commits under way. */

import { ProtocolError, ResendWholeError } from "../errors.js";
import { Connection } from "../http/connection.js";
import type { Deadline, Limits } from "../http/deadline.js";
import type { Settings } from "../http/settings.js";
import { packed } from "../wire/packing.js";
import { randomId } from "../wire/random_id.js";
import type { AnswerOf, Body, Path } from "../wire/schemas.js";
import { Commits } from "./commits.js";
import { DoesNotFitError } from "./differences.js";
import type { Op } from "./encode.js";
import { Exchange, type Shortened } from "./exchange.js";
import { keyOf } from "./history.js";
import { Leases } from "./leases.js";
import { Memory } from "./memory.js";
import type { ReadAnswer } from "./offer.js";

const COMMIT = "/v1/checkpoints/commit";
type ReadPath = "/v1/checkpoints/get" | "/v1/checkpoints/list" | "/v1/checkpoints/history";

interface OfThread {
  thread_id?: string | null | undefined;
}

export interface LinkOptions {
  historyBytesMax: number;
  differenceBytesMax: number;
  isExclusive: boolean;
  leaseSeconds: number;
}

/** See above. Constructing opens nothing. */
export class Link {
  readonly memory: Memory;
  readonly exchange: Exchange;
  readonly commits: Commits;
  readonly leases: Leases;
  readonly #connection: Connection;
  readonly #writer = randomId().replaceAll("-", "");
  #seq = 0;

  constructor(settings: Settings, options: LinkOptions) {
    this.#connection = new Connection(settings);
    this.memory = new Memory(options.historyBytesMax);
    this.exchange = new Exchange(options.differenceBytesMax);
    const leasing = { holder: this.#writer, isExclusive: options.isExclusive };
    const seconds = options.leaseSeconds;
    this.leases = new Leases({ ...leasing, seconds }, (path, body, deadline) => {
      return this.write(path, body, deadline);
    });
    this.commits = new Commits(settings.url, (threadId, ops, deadline) => {
      return this.leases.writing(threadId, deadline, () => this.#commit(threadId, ops, deadline));
    });
  }

  /** Where the server is. Holds no secret. */
  get url(): string {
    return this.#connection.url;
  }

  /** Of calls that say nothing else. */
  get limits(): Limits {
    return this.#connection.limits;
  }

  /** Whether the server answers and knows the key; else throws. */
  async check(deadline: Deadline): Promise<void> {
    await this.#connection.call({ method: "GET", path: "/v1/whoami", isWrite: false, deadline });
  }

  /** Grows with each call: tells the server which of two replacing writes is older. */
  nextSeq(): number {
    this.#seq += 1;
    return this.#seq;
  }

  /** One write that is its own call, with a key of its own so that a repetition is not a second one. */
  async write<P extends Path>(path: P, body: Body<P>, deadline: Deadline): Promise<AnswerOf<P>> {
    const idempotencyKey = path === "/v1/threads/copy" ? randomId() : undefined;
    const request = { path, body: packed(body), isWrite: true, idempotencyKey, deadline };
    return (await this.#connection.call(request)) as AnswerOf<P>;
  }

  /** A read, with the values of its answer whole, whichever way they came. */
  async read<P extends ReadPath>(
    path: P,
    body: Body<P> & OfThread,
    deadline: Deadline,
  ): Promise<AnswerOf<P>> {
    const threadId = body.thread_id;
    const offer = threadId ? this.exchange.offer(threadId) : undefined;
    if (!threadId || !offer) return this.#read(path, body, deadline);
    const answer = await this.#read(path, { ...body, have_values: offer.haveValues }, deadline);
    try {
      const named = await offer.resolved(answer as ReadAnswer);
      this.exchange.values.keep(threadId, named);
      return answer;
    } catch (error) {
      if (!(error instanceof DoesNotFitError)) throw error;
      this.exchange.values.forget(threadId);
      return this.#read(path, body, deadline);
    }
  }

  /** Forgets threads before a request that replaces them, and what was read meanwhile after it. */
  async forgetting<T>(threadIds: readonly string[], work: () => Promise<T>): Promise<T> {
    const forget = () => {
      for (const threadId of threadIds) {
        this.memory.forget(threadId);
        this.exchange.values.forget(threadId);
      }
    };
    forget();
    try {
      return await work();
    } finally {
      forget();
    }
  }

  /** Drops every remembered answer around a request whose extent only the server knows. */
  async deletingSomewhere<T>(work: () => Promise<T>): Promise<T> {
    this.memory.dropAllAnswers();
    try {
      return await work();
    } finally {
      this.memory.dropAllAnswers();
    }
  }

  async #read<P extends ReadPath>(
    path: P,
    body: Body<P>,
    deadline: Deadline,
  ): Promise<AnswerOf<P>> {
    const request = { path, body: packed(body), isWrite: false, deadline };
    return (await this.#connection.call(request)) as AnswerOf<P>;
  }

  async #commit(threadId: string, ops: readonly Op[], deadline: Deadline): Promise<void> {
    const touches = ops.map((op) => ({
      key: keyOf(op.checkpointNs, op.checkpointId),
      isPut: op.isPut,
    }));
    this.memory.touch(threadId, touches);
    try {
      await this.#commitShortened(threadId, ops, deadline);
    } finally {
      this.memory.touch(threadId, touches);
    }
  }

  async #commitShortened(threadId: string, ops: readonly Op[], deadline: Deadline): Promise<void> {
    let sent: Shortened = await this.exchange.shorten(threadId, ops);
    let answer: AnswerOf<typeof COMMIT>;
    try {
      answer = await this.#sendCommit(threadId, ops, deadline);
    } catch (error) {
      if (!(error instanceof ResendWholeError)) throw error;
      this.exchange.refused(threadId);
      sent = await this.exchange.shorten(threadId, ops, true);
      answer = await this.#sendCommit(threadId, ops, deadline);
    }
    if (typeof answer.generation !== "string") {
      throw new ProtocolError("the answer to a commit has no generation");
    }
    this.memory.learn(threadId, answer.generation);
    this.exchange.acknowledged(threadId, sent);
  }

  async #sendCommit(
    threadId: string,
    ops: readonly Op[],
    deadline: Deadline,
  ): Promise<AnswerOf<typeof COMMIT>> {
    const body: Body<typeof COMMIT> = {
      thread_id: threadId,
      writer: this.#writer,
      generation: this.memory.generation(threadId),
      fence: this.leases.fence(threadId),
      ops: ops.map((op) => op.body),
    };
    const request = { path: COMMIT, body: packed(body), isWrite: true, deadline };
    return (await this.#connection.call(request)) as AnswerOf<typeof COMMIT>;
  }
}
