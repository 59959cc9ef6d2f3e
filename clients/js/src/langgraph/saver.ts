/** `ThreadkeepSaver`: the checkpointer of LangGraph.js on a threadkeep server. */

import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type DeltaChannelHistory,
  type PendingWrite,
} from "@langchain/langgraph-checkpoint";
import {
  nothingPruned,
  type PruneOptions,
  type PruneReport,
  pruneBody,
  pruneReport,
  runIdsOf,
} from "../client/prune.js";
import { CodecError, InvalidError } from "../errors.js";
import { type ConnectionOptions, settingsOf } from "../http/settings.js";
import { idOf, threadIdOf } from "../wire/ids.js";
import { tupleOf, type View } from "./decode.js";
import { checkpointOp, configOf, type Serializer, targetOf, writesOp } from "./encode.js";
import { LEASE_SECONDS } from "./leases.js";
import { Link } from "./link.js";
import { Get, History, List, loadedHistory } from "./reads.js";

const MEMORY_BYTES_MAX = 32 * 1024 * 1024;

export interface ThreadkeepSaverOptions extends ConnectionOptions {
  /** Default: LangGraph's own. */
  serde?: Serializer | undefined;
  /** Bounds what is remembered of delta histories. Default 32 MiB, 0 turns it off. */
  historyBytesMax?: number | undefined;
  /** Bounds what is remembered of values, so that only what changed of them travels. Default 32 MiB, 0 turns it off. */
  differenceBytesMax?: number | undefined;
  /**
   * The first write to a thread takes its lease, and later ones keep it until 60 seconds after the last: two savers cannot
   * write turns of one thread into each other. Default false. `withLease` is the exact form.
   */
  exclusive?: boolean | undefined;
  /** A lease expires after so many seconds without a heartbeat. 1-3,600, default 30. */
  leaseSeconds?: number | undefined;
}

/**
 * Checkpoints on a threadkeep server. `url` and `apiKey` default to THREADKEEP_URL and THREADKEEP_API_KEY. Constructing does
 * no I/O; one object serves any number of threads, and there is nothing to close but the leases of an exclusive one. Failures
 * throw the types of `threadkeep`; undefined means that a checkpoint does not exist and nothing else.
 */
export class ThreadkeepSaver extends BaseCheckpointSaver {
  readonly #link: Link;
  #foreignSkipped = 0;

  constructor(options: ThreadkeepSaverOptions = {}) {
    super(options.serde);
    this.#link = new Link(settingsOf(options), {
      historyBytesMax: options.historyBytesMax ?? MEMORY_BYTES_MAX,
      differenceBytesMax: options.differenceBytesMax ?? MEMORY_BYTES_MAX,
      isExclusive: options.exclusive ?? false,
      leaseSeconds: options.leaseSeconds ?? LEASE_SECONDS,
    });
  }

  /** Checkpoints of other languages that lists over all threads of this saver have left out so far. */
  get foreignSkipped(): number {
    return this.#foreignSkipped;
  }

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    // LangGraph asks without a thread, too, and expects nothing then.
    const threadId: unknown = config.configurable?.["thread_id"];
    if (threadId === undefined || threadId === null) return undefined;
    const target = targetOf(config);
    this.#link.leases.read(target.threadId);
    const read = new Get(this.#link.memory, target);
    const view = read.view(await this.#link.read("/v1/checkpoints/get", read.body));
    return view && this.#tuple(view);
  }

  /**
   * Newest first by checkpoint id. Without a thread id: all threads that the key may read; checkpoints of clients of other
   * languages are left out then and counted in `foreignSkipped`, while a thread that is named throws a CodecError.
   */
  async *list(
    config: RunnableConfig,
    options?: CheckpointListOptions,
  ): AsyncGenerator<CheckpointTuple> {
    const read = new List(this.#link.memory, config, options);
    for (let body = read.nextBody(); body; body = read.nextBody()) {
      for (const view of read.views(await this.#link.read("/v1/checkpoints/list", body))) {
        const tuple = await this.#listed(view, read.threadId !== undefined);
        if (tuple) yield tuple;
      }
    }
  }

  async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const target = targetOf(config);
    const op = checkpointOp(this.serde, { target, checkpoint, metadata, newVersions });
    await this.#link.commits.commit(target.threadId, op);
    return configOf(target.threadId, target.checkpointNs, idOf(checkpoint.id, "checkpoint.id"));
  }

  async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    const target = targetOf(config);
    const seq = this.#link.nextSeq();
    const op = writesOp(this.serde, { target, writes, taskId, seq });
    // An empty list is checked like any other, and then there is nothing to send.
    if (writes.length === 0) await op;
    else await this.#link.commits.commit(target.threadId, op);
  }

  override async getDeltaChannelHistory(options: {
    config: RunnableConfig;
    channels: string[];
  }): Promise<Record<string, DeltaChannelHistory>> {
    const read = new History(this.#link.memory, targetOf(options.config), options.channels);
    const known =
      read.remembered() ??
      read.histories(await this.#link.read("/v1/checkpoints/history", read.body()));
    const loaded = [...known].map(async ([channel, history]) => {
      return [channel, await loadedHistory(this.serde, channel, history)] as const;
    });
    return Object.fromEntries(await Promise.all(loaded));
  }

  /** Every namespace of a thread. A thread that does not exist is no error. */
  async deleteThread(threadId: string): Promise<void> {
    const id = threadIdOf(threadId);
    const { leases } = this.#link;
    await this.#link.forgetting([id], () => {
      return leases.guarding(id, () => {
        return this.#link.write("/v1/threads/delete", { thread_id: id, fence: leases.fence(id) });
      });
    });
    leases.deleted(id);
  }

  /**
   * Holds a thread while `work` runs: the lease is acquired before it, kept by heartbeats, and given back at the end; every
   * write in between carries its fence. Calls of one saver share it. Throws LeaseHeldError while another has it, after trying
   * for `waitMs` (0); a write after another took it over throws LeaseLostError.
   */
  withLease<T>(
    threadId: string,
    work: () => Promise<T>,
    options: { waitMs?: number } = {},
  ): Promise<T> {
    return this.#link.leases.during(threadIdOf(threadId), options.waitMs ?? 0, work);
  }

  /** Gives the leases of an exclusive saver back. Optional and repeatable: without it they expire. */
  async close(): Promise<void> {
    await this.#link.leases.releaseAll();
  }

  /** Remove the checkpoints, in all threads, whose metadata has one of these as `run_id`. */
  async deleteForRuns(runIds: readonly string[]): Promise<void> {
    const run_ids = runIdsOf(runIds);
    if (run_ids.length === 0) return;
    await this.#link.deletingSomewhere(() => {
      return this.#link.write("/v1/checkpoints/delete-for-runs", { run_ids });
    });
  }

  /** Copy a thread onto an id that has no checkpoints yet. A source that does not exist copies nothing. */
  async copyThread(sourceThreadId: string, targetThreadId: string): Promise<void> {
    const [source, target] = [threadIdOf(sourceThreadId), threadIdOf(targetThreadId)];
    await this.#link.forgetting([target], () => {
      const body = { source_thread_id: source, target_thread_id: target };
      return this.#link.write("/v1/threads/copy", body);
    });
  }

  /** Remove checkpoints, but for the `keepLast` newest of each namespace (1 by default). */
  async prune(threadIds: readonly string[], options: PruneOptions = {}): Promise<PruneReport> {
    const body = pruneBody(threadIds, options);
    if (body.thread_ids.length === 0) return nothingPruned(options.dryRun === true);
    const answer = await this.#link.forgetting(body.thread_ids, () => {
      return this.#link.write("/v1/checkpoints/prune", body);
    });
    return pruneReport(answer);
  }

  /** Small whole numbers, as LangGraph.js compares them. A thread of another language has none after its own. */
  override getNextVersion(current: number | undefined): number {
    if (typeof current === "string") {
      throw new InvalidError(
        "this thread has versions that are text: LangGraph.js cannot continue it",
      );
    }
    return super.getNextVersion(current);
  }

  async #listed(view: View, isNamed: boolean): Promise<CheckpointTuple | undefined> {
    try {
      return await this.#tuple(view);
    } catch (error) {
      if (isNamed || !(error instanceof CodecError)) throw error;
      this.#foreignSkipped += 1;
      return undefined;
    }
  }

  #tuple(view: View): Promise<CheckpointTuple> {
    return tupleOf(view, this.serde, () => this.getNextVersion(undefined));
  }
}
