/** Messages of a state: the newest come with it, earlier ones when a person asks for them. */

import { useMemo, useState } from "react";
import type { Client, State } from "threadkeep";
import { useApi } from "../../api/context.js";
import { conversationOf, type Entry } from "../../content/conversation.js";
import { listWindowOf, pointerTo, readCut } from "../../content/cut.js";
import { type LoadedMessages, withEarlier, withNewest } from "../../content/message_window.js";
import { messageOf } from "../../content/messages.js";
import { isMessage, type MessageWindow, messageWindowOf } from "../../content/shapes.js";
import { NEWEST } from "./queries.js";

export interface Earlier {
  /** Messages before those that are shown. */
  count: number;
  load: () => void;
  isLoading: boolean;
  error: unknown;
}

interface Messages {
  entries: Entry[];
  /** All messages of the list, and those that tasks have written since. */
  count: number;
  earlier: Earlier;
}

/** All that is known, and the newest part that it was joined from. */
interface Joined {
  newest: MessageWindow | undefined;
  known: LoadedMessages | undefined;
}

/** The messages of a state. What was loaded before stays while the newest state follows. */
export function useMessages(state: State | undefined): Messages {
  const { client } = useApi();
  const newest = useMemo(() => state && messageWindowOf(state.values), [state]);
  const [joined, setJoined] = useState<Joined>({ newest: undefined, known: undefined });
  const [progress, setProgress] = useState<{ isLoading: boolean; error?: unknown }>();
  if (joined.newest !== newest) {
    setJoined({ newest, known: newest && withNewest(joined.known, newest) });
  }
  const { known } = joined;
  const shown = useMemo(() => {
    const written = state ? writtenMessages(state, known?.messages ?? []) : [];
    const all = [...(known?.messages ?? []), ...written];
    return { entries: conversationOf(all, known?.from), written: written.length };
  }, [state, known]);
  const load = async () => {
    const channel = newest?.channel;
    if (!state || !known || channel === undefined) return;
    setProgress({ isLoading: true });
    try {
      const earlier = await earlierMessages(client, state, channel, known.from);
      setJoined((now) => ({
        ...now,
        known: earlier && now.known ? withEarlier(now.known, earlier) : now.known,
      }));
      setProgress(undefined);
    } catch (error) {
      setProgress({ isLoading: false, error });
    }
  };
  return {
    entries: shown.entries,
    count: (known?.length ?? 0) + shown.written,
    earlier: {
      count: known?.from ?? 0,
      load: () => void load(),
      isLoading: progress?.isLoading === true,
      error: progress?.error,
    },
  };
}

/** The part of the list before `end`. */
async function earlierMessages(
  client: Client,
  { threadId, checkpointNs, checkpointId }: State,
  channel: string,
  end: number,
): Promise<LoadedMessages | undefined> {
  const from = Math.max(0, end - NEWEST);
  const read = async (heads: { stringBytesMax: number; itemsMax: number }) => {
    const place = { checkpointNs, checkpointId, pointer: pointerTo(channel) };
    const options = { ...place, ...heads, from, integers: "bigint" as const };
    return (await client.checkpoints.values(threadId, options))?.channels[0]?.value;
  };
  // The limit holds for the fields of a message, too, so it does not shrink with the part. Messages that are known already are dropped.
  const found = listWindowOf(await readCut(read, NEWEST));
  return found && { from: found.from, length: found.length, messages: found.items };
}

/** What the tasks of a state have written since that are messages, without those that its values have already. */
export function writtenMessages(
  { writes }: Pick<State, "writes">,
  stored: readonly unknown[],
): unknown[] {
  const ids = new Set(stored.map((one) => messageOf(one).id));
  return writes
    .flatMap(({ value }) => listWindowOf(value)?.items ?? [value])
    .filter((one) => isMessage(one) && !isKnown(ids, messageOf(one).id));
}

function isKnown(ids: Set<string | undefined>, id: string | undefined): boolean {
  return id !== undefined && ids.has(id);
}
