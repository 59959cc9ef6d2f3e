/** The reads of a saver as plans: a body to send, and what the answer means. A plan does no I/O itself. */

import type { RunnableConfig } from "@langchain/core/runnables";
import * as langgraph from "@langchain/langgraph-checkpoint";
import { InvalidError, ProtocolError } from "../errors.js";
import { jsonIn, listIn, optionalTextIn, textIn, textsIn } from "../wire/answers.js";
import { idOf } from "../wire/ids.js";
import { exact } from "../wire/packing.js";
import type { AnswerOf, Body, Schemas } from "../wire/schemas.js";
import { loaded, View } from "./decode.js";
import { type Serializer, type Target, targetOf } from "./encode.js";
import {
  basesOf,
  type Chain,
  type ChannelHistory,
  chainOf,
  historyIn,
  keyOf,
  nodeOf,
  type Placed,
  type Target as WalkTarget,
} from "./history.js";
import type { Memory, ReadMark } from "./memory.js";

/** `getTuple`: the checkpoint, and with it the histories that are asked for next. */
export class Get {
  readonly body: Body<"/v1/checkpoints/get">;
  readonly #memory: Memory;
  readonly #target: Target;
  readonly #walk: Walk;

  constructor(memory: Memory, target: Target) {
    this.#memory = memory;
    this.#target = target;
    this.#walk = new Walk(memory, target);
    const channels = memory.channels(target.threadId);
    this.body = {
      ...this.#walk.body,
      history_channels: channels.length > 0 ? channels : undefined,
    };
  }

  /** Undefined when there is no such checkpoint, which only a whole answer can say. */
  view(answer: AnswerOf<"/v1/checkpoints/get">): View | undefined {
    const { threadId } = this.#target;
    const channels = new Set(textsIn(answer, "history_channels"));
    const view = answer.checkpoint ? new View(answer.checkpoint) : undefined;
    this.#memory.learn(threadId, optionalTextIn(answer, "generation"));
    if (!view) {
      this.#memory.dropAnswers(threadId);
      return undefined;
    }
    this.#memory.seen(threadId, [keyOf(view.checkpointNs, view.checkpointId)]);
    const target = { parentId: view.parentId, bases: basesOf(view.raw), channels };
    this.#walk.keep(answer, [view.checkpointNs, view.checkpointId, target]);
    return view;
  }
}

/**
 * Whether a history without a checkpoint id is that of the newest one, as in MemorySaver. LangGraph.js before 1.7 asks so where it found
 * no checkpoint, such as in a replay of the time before a subgraph's first one; its MemorySaver has no history then. Only the later
 * one has this function.
 */
export const ANSWERS_NEWEST = "writesSortKey" in langgraph;

/** `getDeltaChannelHistory`: from memory while that holds, else one request. */
export class History {
  readonly #memory: Memory;
  readonly #target: Target;
  readonly #channels: string[];
  #walk: Walk | undefined;

  constructor(memory: Memory, target: Target, channels: readonly string[]) {
    this.#memory = memory;
    this.#target = target;
    this.#channels = [...new Set(channels.map((channel) => idOf(channel, "channels")))];
  }

  /** The histories, when the last read of this checkpoint brought them along. */
  remembered(): Map<string, ChannelHistory> | undefined {
    const { threadId, checkpointNs, checkpointId } = this.#target;
    this.#memory.asked(threadId, this.#channels);
    if (this.#channels.length === 0) return this.#empty();
    if (checkpointId === undefined) return ANSWERS_NEWEST ? undefined : this.#empty();
    const key = keyOf(checkpointNs, checkpointId);
    const chain = this.#memory.answer(threadId, key, this.#channels);
    const target = chain?.targets.get(key);
    return chain && target ? this.#read(chain, target) : undefined;
  }

  /** The request for what is not remembered. */
  body(): Body<"/v1/checkpoints/history"> {
    this.#walk = new Walk(this.#memory, this.#target);
    return { ...this.#walk.body, channels: this.#channels };
  }

  /** The histories of an answer; all are empty when the checkpoint does not exist. */
  histories(answer: AnswerOf<"/v1/checkpoints/history">): Map<string, ChannelHistory> {
    const checkpointId = optionalTextIn(answer, "checkpoint_id");
    if (checkpointId === undefined || !this.#walk) {
      this.#memory.dropAnswers(this.#target.threadId);
      return this.#empty();
    }
    const target = {
      parentId: optionalTextIn(answer, "parent_checkpoint_id"),
      bases: basesOf(answer),
      channels: new Set(this.#channels),
    };
    return this.#read(
      this.#walk.keep(answer, [this.#target.checkpointNs, checkpointId, target]),
      target,
    );
  }

  #empty(): Map<string, ChannelHistory> {
    return new Map(this.#channels.map((name) => [name, { seed: undefined, writes: [] }]));
  }

  #read(chain: Chain, target: WalkTarget): Map<string, ChannelHistory> {
    const { checkpointNs } = this.#target;
    return new Map(
      this.#channels.map((name) => [name, historyIn(chain, checkpointNs, target, name)]),
    );
  }
}

/** `list`: page after page, until there is no more or the limit is reached. */
export class List {
  /** Undefined: all threads. */
  readonly threadId: string | undefined;
  readonly #memory: Memory;
  #left: number;
  #body: Body<"/v1/checkpoints/list"> | undefined;
  #mark: ReadMark | undefined;

  constructor(
    memory: Memory,
    config: RunnableConfig,
    options: langgraph.CheckpointListOptions = {},
  ) {
    const { limit, before, filter } = options;
    if (limit !== undefined && !(Number.isInteger(limit) && limit >= 0)) {
      throw new InvalidError("limit must be a whole number, not negative", {
        field: "limit",
        limit: 0,
      });
    }
    this.#memory = memory;
    this.#left = limit ?? Number.POSITIVE_INFINITY;
    const keys = config?.configurable ?? {};
    const isOne = keys["thread_id"] !== undefined && keys["thread_id"] !== null;
    const target = isOne ? targetOf(config) : undefined;
    const channels = target ? memory.channels(target.threadId) : [];
    const { checkpoint_ns: ns, checkpoint_id: id } = keys;
    const bound = before?.configurable?.["checkpoint_id"];
    this.threadId = target?.threadId;
    this.#body = {
      thread_id: target?.threadId,
      checkpoint_ns: ns === undefined || ns === null ? undefined : idOf(ns, "checkpoint_ns"),
      checkpoint_id: target ? target.checkpointId : id ? idOf(id, "checkpoint_id") : undefined,
      history_channels: channels.length > 0 ? channels : undefined,
      before: bound ? idOf(bound, "before") : undefined,
      filter: filter && Object.keys(filter).length > 0 ? exact(filter, "filter") : undefined,
      // The same in every page, as the protocol wants; the last page is cut here.
      limit,
    };
  }

  /** The request for the next page, undefined after the last. */
  nextBody(): Body<"/v1/checkpoints/list"> | undefined {
    if (!this.#body || this.#left === 0) return undefined;
    if (this.threadId !== undefined) this.#mark = this.#memory.beginRead(this.threadId);
    return this.#body;
  }

  /** The checkpoints of a page. */
  views(answer: AnswerOf<"/v1/checkpoints/list">): View[] {
    const views = listIn(answer, "checkpoints").map((raw) => new View(raw));
    if (this.threadId !== undefined) {
      const keys = views.map((view) => keyOf(view.checkpointNs, view.checkpointId));
      this.#memory.seen(this.threadId, keys);
    }
    if (views.length > 0) this.#keep(views, answer);
    const cursor = optionalTextIn(answer, "next_cursor");
    if (cursor !== undefined && cursor === this.#body?.cursor) {
      throw new ProtocolError("the server gave the same page cursor twice");
    }
    this.#body = cursor === undefined ? undefined : { ...this.#body, cursor };
    const cut = views.slice(0, this.#left);
    this.#left -= cut.length;
    return cut;
  }

  /** Remember the histories of a page. */
  #keep(views: View[], answer: AnswerOf<"/v1/checkpoints/list">): void {
    const asked = textsIn(answer, "history_channels");
    if (asked.length === 0 || this.threadId === undefined || !this.#mark) return;
    const requested = this.#body?.history_channels ?? [];
    const nodes = listIn(answer, "chain").map((raw): Placed<ReturnType<typeof nodeOf>> => {
      return [textIn(raw, "checkpoint_ns"), textIn(raw, "checkpoint_id"), nodeOf(raw)];
    });
    const targets = views.map((view): Placed<WalkTarget> => {
      const answered = channelsAnswered(view, requested);
      const channels = new Set(asked.filter((channel) => answered.has(channel)));
      const target = { parentId: view.parentId, bases: basesOf(view.raw), channels };
      return [view.checkpointNs, view.checkpointId, target];
    });
    this.#memory.keepPage(this.threadId, chainOf(nodes, targets), this.#mark);
  }
}

/** The channels whose history a list brings along for one of its checkpoints. */
function channelsAnswered(view: View, requested: readonly string[]): Set<string> {
  const counters = jsonIn(view.raw, "metadata")["counters_since_delta_snapshot"] ?? {};
  const answered = new Set([...Object.keys(counters), ...requested]);
  for (const value of view.raw.values) answered.delete(value.channel);
  return answered;
}

interface WalkBody {
  thread_id: string;
  checkpoint_ns: string;
  checkpoint_id: string | undefined;
  have: Schemas["Have"] | undefined;
}

/** A read that walks one chain: offers the chain it holds, and joins the difference to it. */
class Walk {
  readonly body: WalkBody;
  readonly #memory: Memory;
  readonly #target: Target;
  readonly #mark: ReadMark;
  readonly #offered: Chain | undefined;

  constructor(memory: Memory, target: Target) {
    this.#memory = memory;
    this.#target = target;
    this.#mark = memory.beginRead(target.threadId);
    this.#offered = memory.offer(target.threadId, target.checkpointNs);
    const { firstId, digest } = this.#offered ?? {};
    this.body = {
      thread_id: target.threadId,
      checkpoint_ns: target.checkpointNs,
      checkpoint_id: target.checkpointId,
      have: firstId && digest ? { checkpoint_id: firstId, digest } : undefined,
    };
  }

  /** The whole chain of an answer, remembered for the next read. */
  keep(answer: Schemas["GotCheckpoint"] | Schemas["Histories"], target: Placed<WalkTarget>): Chain {
    const { threadId, checkpointNs } = this.#target;
    const nodes = listIn(answer, "chain").map(nodeOf);
    const continuesAt = optionalTextIn(answer, "continues_at");
    if (continuesAt !== undefined) {
      if (!this.body.have || continuesAt !== this.body.have.checkpoint_id || !this.#offered) {
        throw new ProtocolError("the chain continues at a checkpoint that was not offered");
      }
      nodes.push(...this.#offered.nodes.values());
    }
    const placed = nodes.map((node) => [checkpointNs, node.checkpointId, node] as const);
    const chain = chainOf(placed, [target], optionalTextIn(answer, "digest"));
    this.#memory.keep(threadId, checkpointNs, chain, this.#mark);
    return chain;
  }
}

/** The history of a channel with its values deserialized anew. */
export async function loadedHistory(
  serde: Serializer,
  channel: string,
  { seed, writes }: ChannelHistory,
): Promise<langgraph.DeltaChannelHistory> {
  const loadedWrites = writes.map(
    async ({ taskId, tag, data }): Promise<[string, string, unknown]> => {
      return [taskId, channel, await loaded(serde, channel, tag, data)];
    },
  );
  const result: langgraph.DeltaChannelHistory = { writes: await Promise.all(loadedWrites) };
  if (seed) result.seed = await loaded(serde, channel, seed.tag, seed.data);
  return result;
}
