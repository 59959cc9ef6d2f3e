/** What the running graph tells, as deepagents' StoreBackend tells it to a factory of namespaces. */

import { getConfig, getCurrentTaskInput } from "@langchain/langgraph";

/** Outside of a graph there is nothing to tell. */
export interface BackendContext {
  /** The state of the graph. */
  state: unknown;
  config: RunConfig | undefined;
  /** `assistant_id` of the metadata, else of `configurable`. */
  assistantId: string | undefined;
}

export interface RunConfig {
  metadata: Record<string, unknown> | undefined;
  configurable: Record<string, unknown> | undefined;
}

export function contextNow(): BackendContext {
  const config = configNow();
  return {
    state: stateNow(),
    config,
    assistantId: assistantIdIn(config?.metadata) ?? assistantIdIn(config?.configurable),
  };
}

/** The thread that runs. */
export function threadIdIn({ config }: BackendContext): string | undefined {
  const found = config?.configurable?.["thread_id"];
  return typeof found === "number" ? String(found) : idIn(config?.configurable, "thread_id");
}

function configNow(): RunConfig | undefined {
  try {
    const { metadata, configurable } = (getConfig() ?? {}) as Partial<RunConfig>;
    return metadata || configurable ? { metadata, configurable } : undefined;
  } catch {
    // A runtime without asynchronous contexts.
    return undefined;
  }
}

function stateNow(): unknown {
  try {
    return getCurrentTaskInput();
  } catch {
    return undefined;
  }
}

function assistantIdIn(values: Record<string, unknown> | undefined): string | undefined {
  return idIn(values, "assistant_id") ?? idIn(values, "assistantId");
}

function idIn(values: Record<string, unknown> | undefined, name: string): string | undefined {
  const found = values?.[name];
  return typeof found === "string" && found !== "" ? found : undefined;
}
