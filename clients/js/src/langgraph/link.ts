/** What a saver's calls share: the connection, the memory, the commits under way. */

import { PartsMissingError, ProtocolError, ResendWholeError } from "../errors.js";
import { Connection } from "../http/connection.js";
import type { Deadline, Limits } from "../http/deadline.js";
import type { Settings } from "../http/settings.js";
import { packed } from "../wire/packing.js";
import { randomId } from "../wire/random_id.js";
import type { AnswerOf, Body, Path } from "../wire/schemas.js";
import { Commits } from "./commits.js";
import { View } from "./decode.js";
import { DoesNotFitError } from "./differences.js";
import type { Op, Value } from "./encode.js";
import { Exchange, type Shortened } from "./exchange.js";
import { keyOf } from "./history.js";
import { Leases } from "./leases.js";
import { Memory } from "./memory.js";
import type { ReadAnswer } from "./offer.js";
import * as parts from "./parts.js";

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

  /**
   * A read, with the values of its answer whole, whichever way they came. Of a list, the checkpoints become whole one by one, by
   * `whole`.
   */
  async read<P extends ReadPath>(
    path: P,
    body: Body<P> & OfThread,
    deadline: Deadline,
  ): Promise<AnswerOf<P>> {
    const answer = await this.#answered(path, body, deadline);
    try {
      await this.#complete(path, body, answer as ReadAnswer, deadline);
      return answer;
    } catch (error) {
      if (!(error instanceof PartsMissingError)) throw error;
      // Something was removed between the two requests.
      const again = await this.#answered(path, body, deadline);
      await this.#complete(path, body, again as ReadAnswer, deadline);
      return again;
    }
  }

  /**
   * A checkpoint of a list with the values that came in parts; undefined if it is gone by now. `held` has the values in parts of
   * the one before; afterwards it has those of this one.
   */
  async whole(view: View, held: parts.Held, deadline: Deadline): Promise<View | undefined> {
    const entries = parts.ofView(view.raw);
    if (entries.length === 0) return view;
    try {
      replace(held, await parts.fetchAll(view.threadId, entries, held, this.#call(deadline)));
      return view;
    } catch (error) {
      if (!(error instanceof PartsMissingError)) throw error;
    }
    const { threadId: thread_id, checkpointNs: checkpoint_ns, checkpointId: checkpoint_id } = view;
    const body = { thread_id, checkpoint_ns, checkpoint_id };
    const { checkpoint } = await this.#answered("/v1/checkpoints/get", body, deadline);
    if (!checkpoint) return undefined;
    const again = new View(checkpoint);
    const left = parts.ofView(again.raw);
    replace(held, await parts.fetchAll(thread_id, left, held, this.#call(deadline)));
    return again;
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

  /** An answer without short forms; large values still have the names of their parts. */
  async #answered<P extends ReadPath>(
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

  /** Fetches the values of an answer that came in parts, but for the checkpoints of a list. */
  async #complete(
    path: ReadPath,
    body: OfThread,
    answer: ReadAnswer,
    deadline: Deadline,
  ): Promise<void> {
    const entries = parts.ofHistories(answer);
    const room = path === "/v1/checkpoints/list" ? 0 : this.memory.chainBytesMax;
    if (path !== "/v1/checkpoints/history" && parts.lengthOf(entries) > room) {
      // They would not be remembered; whoever needs them asks for them.
      parts.dropHistories(answer);
      entries.length = 0;
    }
    if (answer.checkpoint) entries.push(...parts.ofView(answer.checkpoint));
    if (entries.length === 0 || !body.thread_id) return;
    await parts.fetchAll(body.thread_id, entries, new Map(), this.#call(deadline));
  }

  /** Sends requests of parts within one deadline. */
  #call(deadline: Deadline, isWrite = false): parts.Call {
    return (path, body) => {
      const data = "data" in body && body.data instanceof Uint8Array ? body.data.length : 0;
      return this.#connection.call({ path, body: packed(body, data), isWrite, deadline });
    };
  }

  async #read<P extends ReadPath>(
    path: P,
    body: Body<P>,
    deadline: Deadline,
  ): Promise<AnswerOf<P>> {
    const request = {
      path,
      body: packed({ ...body, value_parts: true }),
      isWrite: false,
      deadline,
    };
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

  /** Large values first, then the commit; again what the server does not have. */
  async #commitShortened(threadId: string, ops: readonly Op[], deadline: Deadline): Promise<void> {
    let sent: Shortened = await this.exchange.shorten(threadId, ops);
    let [puts, isPut, isWhole] = [0, false, false];
    for (;;) {
      try {
        if (!isPut) {
          puts += 1;
          await this.#putParts(threadId, ops, sent.inParts, deadline);
          isPut = true;
        }
        const answer = await this.#sendCommit(threadId, ops, deadline);
        if (typeof answer.generation !== "string") {
          throw new ProtocolError("the answer to a commit has no generation");
        }
        this.memory.learn(threadId, answer.generation);
        this.exchange.acknowledged(threadId, sent);
        return;
      } catch (error) {
        if (error instanceof PartsMissingError && puts <= parts.PUT_AGAIN_MAX) {
          isPut = false;
        } else if (error instanceof ResendWholeError && !isWhole) {
          this.exchange.refused(threadId);
          sent = await this.exchange.shorten(threadId, ops, true);
          [isPut, isWhole] = [false, true];
        } else {
          throw error;
        }
      }
    }
  }

  /** Has the commit name what is put here. */
  async #putParts(
    threadId: string,
    ops: readonly Op[],
    values: readonly Value[],
    deadline: Deadline,
  ): Promise<void> {
    if (values.length === 0) return;
    const data = values.map((value) => value.data);
    const named = await parts.putAll(this.#terms(threadId, ops), data, this.#call(deadline, true));
    for (const [at, { entry }] of values.entries()) {
      entry.data = named[at] ?? null;
    }
  }

  #terms(threadId: string, ops: readonly Op[]): parts.Terms {
    const based = ops.map(({ checkpointNs: ns, checkpointId, basedOn }) => ({
      key: keyOf(ns, checkpointId),
      basedOn: basedOn === undefined ? undefined : keyOf(ns, basedOn),
    }));
    return {
      thread_id: threadId,
      generation: this.memory.generationFor(threadId, based),
      fence: this.leases.fence(threadId),
    };
  }

  async #sendCommit(
    threadId: string,
    ops: readonly Op[],
    deadline: Deadline,
  ): Promise<AnswerOf<typeof COMMIT>> {
    const body: Body<typeof COMMIT> = {
      ...this.#terms(threadId, ops),
      writer: this.#writer,
      ops: ops.map((op) => op.body),
    };
    const request = { path: COMMIT, body: packed(body), isWrite: true, deadline };
    return (await this.#connection.call(request)) as AnswerOf<typeof COMMIT>;
  }
}

function replace(held: parts.Held, found: parts.Held): void {
  held.clear();
  for (const [key, value] of found) held.set(key, value);
}
