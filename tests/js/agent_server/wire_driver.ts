/** A driver that holds every state it shows against what LangGraph's own SDK gets from the server. */

import type { StateSnapshot } from "@langchain/langgraph";
import { type Checkpoint, Client, type ThreadState } from "@langchain/langgraph-sdk";
import { expect } from "vitest";
import { type Fields, type Shown, ShownDriver } from "../display/shown_driver.js";
import type { Config } from "../equivalence/driver.js";

interface Options {
  limit?: number;
  before?: Config;
  filter?: Fields;
}

export class WireDriver extends ShownDriver {
  readonly #client = new Client({ apiUrl: this.url, apiKey: this.key });

  protected override async shown(asked: Fields, checkpointId: unknown): Promise<Shown | undefined> {
    const named = checkpoint({ ...asked, checkpoint_id: checkpointId });
    const thread = String(asked["thread_id"]);
    return told(await this.#client.threads.getState(thread, named, { subgraphs: true }));
  }

  protected override async shownHistory(
    _found: StateSnapshot[],
    config: Config,
    { limit = 1000, before, filter }: Options,
  ): Promise<(Shown | undefined)[]> {
    const asked = config.configurable;
    const found = await this.#client.threads.getHistory(String(asked["thread_id"]), {
      limit,
      checkpoint: checkpoint(asked),
      ...(before && { before: before as never }),
      ...(filter && { metadata: filter }),
    });
    return found.map(told);
  }

  protected override async shownInner(
    inner: StateSnapshot,
    task: Fields,
  ): Promise<Shown | undefined> {
    expect(task["checkpoint"]).toBeNull();
    const state = task["state"] as ThreadState | null;
    if (!state) return undefined;
    // LangGraph.js does not find the states of subgraphs that remember.
    if (!inner.createdAt) {
      expect(state.checkpoint.checkpoint_ns).toMatch(REMEMBERS);
      return undefined;
    }
    return told(state);
  }

  protected override async holdReference(
    name: string,
    inner: Config | undefined,
    { id, checkpoint, state }: Fields,
  ): Promise<void> {
    if (!inner) {
      // A graph that a node calls by itself has checkpoints, of which the graph around it does not know.
      const shown = (checkpoint ?? (state as Fields | null)?.["checkpoint"]) as Fields | null;
      const last = String(shown?.["checkpoint_ns"] ?? name)
        .split("|")
        .at(-1);
      expect([name, `${name}:${id}`]).toContain(last);
      return;
    }
    expect(state).toBeNull();
    const { thread_id, checkpoint_ns } = inner.configurable;
    const remembering = String(checkpoint_ns).replaceAll(/:[^|]*/g, "");
    for (const ns of [checkpoint_ns, remembering]) {
      const named = { configurable: { thread_id, checkpoint_ns: ns } };
      if (await this.saver.getTuple(named)) {
        expect(checkpoint).toEqual(named.configurable);
        return;
      }
    }
    expect(checkpoint).toBeNull();
  }
}

/** A namespace without ids of tasks. */
const REMEMBERS = /^[^:]+$/;

/** The checkpoint that a config names, as the SDK sends it. */
function checkpoint(asked: Fields): Checkpoint {
  return {
    checkpoint_ns: String(asked["checkpoint_ns"] ?? ""),
    checkpoint_id: asked["checkpoint_id"] ?? null,
    checkpoint_map: null,
  } as unknown as Checkpoint;
}

function told(state: ThreadState): Shown | undefined {
  if (!state.checkpoint) return undefined;
  const shown = state as unknown as Shown;
  return {
    ...shown,
    tasks: shown.tasks.map(withoutNulls),
    metadata: withoutThread(shown["metadata"] as Fields),
    created_at: new Date(String(shown["created_at"])).toISOString(),
    parent_checkpoint_id: state.parent_checkpoint?.checkpoint_id ?? undefined,
  };
}

/** As `/v1/state` tells a task: what it does not have is absent. */
function withoutNulls(task: Fields): Fields {
  const given = Object.entries(task).filter(
    ([name, it]) => it !== null || !["error", "result"].includes(name),
  );
  return Object.fromEntries(given);
}

function withoutThread(metadata: Fields): Fields {
  const { thread_id: _, ...stored } = metadata;
  return stored;
}
