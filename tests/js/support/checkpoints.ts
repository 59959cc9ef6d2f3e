/** Small checkpoints made by hand, and what a thread shows. */

import type { CheckpointTuple } from "@langchain/langgraph";
import type { ThreadkeepSaver } from "threadkeep/langgraph";

export function config(thread: string, more: Record<string, unknown> = {}) {
  return { configurable: { thread_id: thread, checkpoint_ns: "", ...more } };
}

export function checkpoint(id: string, values: Record<string, unknown> = { a: "value" }) {
  const channel_versions = Object.fromEntries(Object.keys(values).map((name) => [name, 1]));
  return { v: 4, id, ts: "", channel_values: values, channel_versions, versions_seen: {} };
}

export const METADATA = { source: "loop", step: 1, parents: {} } as const;

/** Puts a checkpoint with all its values. */
export async function put(
  saver: ThreadkeepSaver,
  thread: string,
  made: ReturnType<typeof checkpoint>,
  more: Record<string, unknown> = {},
) {
  return await saver.put(config(thread, more), made, METADATA, made.channel_versions);
}

export async function list(saver: ThreadkeepSaver, thread?: string): Promise<CheckpointTuple[]> {
  const found: CheckpointTuple[] = [];
  const where = thread === undefined ? {} : { thread_id: thread };
  for await (const one of saver.list({ configurable: where })) found.push(one);
  return found;
}
