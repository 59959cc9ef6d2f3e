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
import { type CallOptions, Deadline, type Limits, limitsOf } from "../http/deadline.js";
import { type ConnectionOptions, optionsOf, settingsOf } from "../http/settings.js";
import { showAs } from "../http/shown.js";
import { idOf, threadIdOf } from "../wire/ids.js";
import { tupleOf, type View } from "./decode.js";
import { checkpointOp, configOf, type Serializer, targetOf, writesOp } from "./encode.js";
import { LEASE_SECONDS } from "./leases.js";
import { Link } from "./link.js";
import type { Held } from "./parts.js";
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

/** What a saver with other limits shares with the one that it was made of. */
class Shared {
  constructor(
    readonly serde: Serializer,
    readonly link: Link,
    readonly limits: Limits,
  ) {}
}

/**
 * Checkpoints on a threadkeep server. `url` and `apiKey` default to THREADKEEP_URL and THREADKEEP_API_KEY. Constructing does
 * no I/O; one object serves any number of threads, and there is nothing to close but the leases of an exclusive one. Failures
 * throw the types of `threadkeep`; undefined means that a checkpoint does not exist and nothing else.
 *
 * A call takes `timeoutMs` at most. The signal of a run cancels its calls, and the requests under way; what LangGraph writes
 * after a run was cancelled is still written.
 */
export class ThreadkeepSaver extends BaseCheckpointSaver {
  readonly #link: Link;
  readonly #limits: Limits;
  #foreignSkipped = 0;

  constructor(options?: ThreadkeepSaverOptions);
  constructor(url: string, apiKey?: string);
  constructor(given: ThreadkeepSaverOptions | string | Shared = {}, apiKey?: string) {
    const isShared = given instanceof Shared;
    const options = isShared ? {} : optionsOf(given, apiKey);
    super(isShared ? given.serde : options.serde);
    this.#link = isShared ? given.link : linkOf(options);
    this.#limits = isShared ? given.limits : this.#link.limits;
    showAs(this, this.#link.url);
  }

  /** The saver of an address, as other checkpointers are made. Does no I/O. */
  static fromConnString(
    url: string,
    options: Omit<ThreadkeepSaverOptions, "url"> = {},
  ): ThreadkeepSaver {
    return new ThreadkeepSaver({ ...options, url });
  }

  /** A saver with other limits, which shares connection, memory, queued commits and leases with this one. */
  withOptions(options: CallOptions): ThreadkeepSaver {
    const shared = new Shared(this.serde, this.#link, limitsOf(this.#limits, options));
    return new ThreadkeepSaver(shared as ThreadkeepSaverOptions);
  }

  /** Checks that the server answers and takes the key. There is nothing to set up. */
  async setup(): Promise<void> {
    await this.#link.check(this.#deadline());
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
    const view = read.view(
      await this.#link.read("/v1/checkpoints/get", read.body, this.#deadline(config)),
    );
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
    const held: Held = new Map();
    for (let body = read.nextBody(); body; body = read.nextBody()) {
      const deadline = this.#deadline(config);
      const page = await this.#link.read("/v1/checkpoints/list", body, deadline);
      for (const view of read.views(page)) {
        const whole = await this.#link.whole(view, held, this.#deadline(config));
        const tuple = whole && (await this.#listed(whole, read.threadId !== undefined));
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
    await this.#link.commits.commit(target.threadId, op, this.#writing(config));
    return configOf(target.threadId, target.checkpointNs, idOf(checkpoint.id, "checkpoint.id"));
  }

  /** `taskPath` orders the writes of a checkpoint: by path, task id and position, strings by code point. */
  async putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    taskPath = "",
  ): Promise<void> {
    const target = targetOf(config);
    const seq = this.#link.nextSeq();
    const op = writesOp(this.serde, { target, writes, taskId, taskPath, seq });
    await this.#link.commits.commit(target.threadId, op, this.#writing(config));
  }

  override async getDeltaChannelHistory(options: {
    config: RunnableConfig;
    channels: string[];
  }): Promise<Record<string, DeltaChannelHistory>> {
    const read = new History(this.#link.memory, targetOf(options.config), options.channels);
    const known =
      read.remembered() ??
      read.histories(
        await this.#link.read(
          "/v1/checkpoints/history",
          read.body(),
          this.#deadline(options.config),
        ),
      );
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
        const body = { thread_id: id, fence: leases.fence(id) };
        return this.#link.write("/v1/threads/delete", body, this.#deadline());
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
    options: { waitMs?: number } & CallOptions = {},
  ): Promise<T> {
    const { waitMs = 0, ...limits } = options;
    return this.#link.leases.during(threadIdOf(threadId), waitMs, work, () => {
      return this.#deadline(limits);
    });
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
      return this.#link.write("/v1/checkpoints/delete-for-runs", { run_ids }, this.#deadline());
    });
  }

  /** Copy a thread onto an id that has no checkpoints yet. A source that does not exist copies nothing. */
  async copyThread(sourceThreadId: string, targetThreadId: string): Promise<void> {
    const [source, target] = [threadIdOf(sourceThreadId), threadIdOf(targetThreadId)];
    await this.#link.forgetting([target], () => {
      const body = { source_thread_id: source, target_thread_id: target };
      return this.#link.write("/v1/threads/copy", body, this.#deadline());
    });
  }

  /** Remove checkpoints, but for the `keepLast` newest of each namespace (1 by default). */
  async prune(threadIds: readonly string[], options: PruneOptions = {}): Promise<PruneReport> {
    const body = pruneBody(threadIds, options);
    if (body.thread_ids.length === 0) return nothingPruned(options.dryRun === true);
    const answer = await this.#link.forgetting(body.thread_ids, () => {
      return this.#link.write("/v1/checkpoints/prune", body, this.#deadline(options));
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

  /** The time of one call, cancelled by the signal of its run. */
  #deadline({ timeoutMs, signal }: CallOptions = {}): Deadline {
    return new Deadline(limitsOf(this.#limits, { timeoutMs, signal }));
  }

  /** The same of a write. LangGraph writes how a run ended also where it was cancelled: its signal counts no more then. */
  #writing({ signal }: CallOptions): Deadline {
    return this.#deadline({ signal: signal?.aborted ? undefined : signal });
  }

  #tuple(view: View): Promise<CheckpointTuple> {
    return tupleOf(view, this.serde, () => this.getNextVersion(undefined));
  }
}

function linkOf(options: ThreadkeepSaverOptions): Link {
  return new Link(settingsOf(options), {
    historyBytesMax: options.historyBytesMax ?? MEMORY_BYTES_MAX,
    differenceBytesMax: options.differenceBytesMax ?? MEMORY_BYTES_MAX,
    isExclusive: options.exclusive ?? false,
    leaseSeconds: options.leaseSeconds ?? LEASE_SECONDS,
  });
}
