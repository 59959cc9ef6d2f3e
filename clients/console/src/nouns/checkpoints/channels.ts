/** Reads one channel of a checkpoint: in part for display, and whole for copies. */

import { useQuery } from "@tanstack/react-query";
import type { Client, RawChannel } from "threadkeep";
import { useApi } from "../../api/context.js";
import { pointerTo, readCut } from "../../content/cut.js";
import { textOfBytes } from "../../content/images.js";
import type { Step } from "./skeleton.js";

/** Entries of a list or an object, at any depth. Lists of lists stay small, too. */
const ITEMS_SHOWN = 20;
/** The codec whose bytes are JSON text. */
const JSON_TAG = "json";
/** Only what is stored, which is never cut. */
const RAW_ONLY = { raw: true, stringBytesMax: 0, itemsMax: 0 };

export interface ChannelName {
  name: string;
  threadId: string;
  step: Step;
}

export function useChannel({ name, threadId, step }: ChannelName) {
  const { client } = useApi();
  const { ns, checkpointId } = step;
  return useQuery({
    queryKey: ["channel", threadId, ns, checkpointId, name],
    queryFn: async ({ signal }) => {
      const options = { checkpointNs: ns, checkpointId, channels: [name], signal };
      const read = async (heads: { stringBytesMax: number; itemsMax: number }) => {
        const integers = "bigint" as const;
        const found = await client.checkpoints.values(threadId, { ...options, ...heads, integers });
        return found?.channels[0];
      };
      return (await readCut(read, ITEMS_SHOWN)) ?? null;
    },
    staleTime: Number.POSITIVE_INFINITY,
    structuralSharing: false,
  });
}

export function useRawChannel(channel: ChannelName) {
  const { client } = useApi();
  const { name, threadId, step } = channel;
  return useQuery({
    queryKey: ["raw channel", threadId, step.ns, step.checkpointId, name],
    queryFn: async ({ signal }) => (await rawChannel(client, channel, signal)) ?? null,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0,
    structuralSharing: false,
  });
}

/**
 * The whole value as JSON text: the stored text itself where the codec is JSON, with its numbers and escapes as they were written. Else
 * what the server shows of it.
 */
export async function channelText(client: Client, channel: ChannelName): Promise<string> {
  const { name, threadId, step } = channel;
  const stored = (await rawChannel(client, channel))?.value;
  const text = stored?.tag === JSON_TAG ? textOfBytes(stored.data) : undefined;
  if (text !== undefined) return text;
  const place = { checkpointNs: step.ns, checkpointId: step.checkpointId };
  const shown = await client.checkpoints.valueText(threadId, pointerTo(name), place);
  if (shown === undefined) throw new Error(`the checkpoint has no channel ${name}`);
  return shown;
}

async function rawChannel(
  client: Client,
  { name, threadId, step }: ChannelName,
  signal?: AbortSignal,
): Promise<RawChannel | undefined> {
  const place = { checkpointNs: step.ns, checkpointId: step.checkpointId, channels: [name] };
  const found = await client.checkpoints.values(threadId, { ...place, ...RAW_ONLY, signal });
  return found?.channels[0]?.raw;
}
