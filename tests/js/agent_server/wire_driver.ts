/** A driver that holds every state it shows against what LangGraph's own SDK gets from the server. */

import { type Checkpoint, Client } from "@langchain/langgraph-sdk";
import { type Fields, type Shown, ShownDriver } from "../display/shown_driver.js";

export class WireDriver extends ShownDriver {
  protected override async shown(asked: Fields, checkpointId: unknown): Promise<Shown | undefined> {
    const client = new Client({ apiUrl: this.url, apiKey: this.key });
    const thread = String(asked["thread_id"]);
    const named = {
      checkpoint_ns: String(asked["checkpoint_ns"] ?? ""),
      checkpoint_id: checkpointId ?? null,
      checkpoint_map: null,
    } as Omit<Checkpoint, "thread_id">;
    const state = await client.threads.getState(thread, named as Checkpoint);
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
}

/** As `/v1/state` tells a task: what it does not have is absent. */
function withoutNulls(task: Fields): Fields {
  const { checkpoint: _, state: __, ...own } = task;
  const given = Object.entries(own).filter(
    ([name, it]) => it !== null || !["error", "result"].includes(name),
  );
  return Object.fromEntries(given);
}

function withoutThread(metadata: Fields): Fields {
  const { thread_id: _, ...stored } = metadata;
  return stored;
}
