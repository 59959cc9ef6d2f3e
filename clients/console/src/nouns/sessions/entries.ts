/** Pages of a stream: its newest entries first, then what is before the first and behind the last that is known. */

import type { LoadOptions, SessionEntry, SessionPage } from "threadkeep";

const PAGE_ENTRIES = 100;
const PAGE_BYTES_MAX = 4 * 1_024 * 1_024;
const WIDER = 4;

export type EntriesAsk = { at: "end" } | { before: number } | { after: number };

export interface EntriesPage {
  entries: SessionEntry[];
  /** Every entry up to this number is known. */
  upTo: number;
  /** The number that earlier ones are below; undefined where there are none. */
  earlierThan: number | undefined;
}

type Load = (options: LoadOptions) => Promise<SessionPage | undefined>;

export async function entriesPage(load: Load, ask: EntriesAsk): Promise<EntriesPage> {
  if ("before" in ask) return await earlierPage(load, ask.before);
  const isEnd = "at" in ask;
  const asked = isEnd ? { tail: PAGE_ENTRIES } : { afterSeq: ask.after, limit: PAGE_ENTRIES };
  const found = await load({ ...asked, bytesMax: PAGE_BYTES_MAX });
  const entries = found?.entries ?? [];
  const known = entries.at(-1)?.seq ?? (isEnd ? 0 : ask.after);
  const isAll = isEnd || !found?.more;
  return {
    entries,
    upTo: isAll ? Math.max(known, found?.head ?? 0) : known,
    earlierThan: isEnd && found?.more ? entries[0]?.seq : undefined,
  };
}

export function nextAsk(last: EntriesPage): EntriesAsk {
  return { after: last.upTo };
}

export function previousAsk(first: EntriesPage): EntriesAsk | undefined {
  return first.earlierThan === undefined ? undefined : { before: first.earlierThan };
}

/** The entries before a number. A compaction leaves gaps in the numbers, so the range grows until it has one. */
async function earlierPage(load: Load, before: number): Promise<EntriesPage> {
  for (let width = PAGE_ENTRIES; ; width *= WIDER) {
    const from = Math.max(0, before - 1 - width);
    const entries = await between(load, from, before);
    if (entries.length > 0 || from === 0) {
      const earlierThan = from === 0 ? undefined : (entries[0]?.seq ?? before);
      return { entries, upTo: before - 1, earlierThan };
    }
  }
}

async function between(load: Load, from: number, before: number): Promise<SessionEntry[]> {
  const entries: SessionEntry[] = [];
  for (let afterSeq = from; ; ) {
    const page = await load({ afterSeq, limit: PAGE_ENTRIES, bytesMax: PAGE_BYTES_MAX });
    entries.push(...(page?.entries ?? []).filter(({ seq }) => seq < before));
    const last = page?.entries.at(-1)?.seq;
    if (!page?.more || last === undefined || last >= before - 1) return entries;
    afterSeq = last;
  }
}
