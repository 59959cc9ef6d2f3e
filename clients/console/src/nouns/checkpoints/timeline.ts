/** Reads the timeline of a thread page by page. Pages that were passed are dropped, and come again when a person goes back to them. */

import {
  type InfiniteData,
  keepPreviousData,
  useInfiniteQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import type { Client, TimelineNamespace, TimelineNode } from "threadkeep";
import { useApi } from "../../api/context.js";
import { isLive } from "../../app/live.js";
import { type Lanes, lanesFrom, type OpenLanes } from "./lanes.js";
import { keyOf } from "./skeleton.js";

/** A page is about 50 KB. */
const PAGE_STEPS = 200;
const PAGES_MAX = 5;
/** Every namespace. */
const ALL = "*";

export interface TimelineRow {
  node: TimelineNode;
  lanes: Lanes;
}

/** Where a page begins. It knows the one before it, because a cursor leads only forwards. */
interface PageBegin {
  cursor: string | undefined;
  rowsBefore: number;
  open: OpenLanes;
  namespaces: readonly TimelineNamespace[];
  previous: PageBegin | undefined;
}

interface Page {
  rows: TimelineRow[];
  next: Omit<PageBegin, "previous"> | undefined;
  namespaces: readonly TimelineNamespace[];
}

const FIRST: PageBegin = {
  cursor: undefined,
  rowsBefore: 0,
  open: [],
  namespaces: [],
  previous: undefined,
};

async function readPage(
  client: Client,
  { threadId, ns }: { threadId: string; ns: string | undefined },
  begin: PageBegin,
  signal?: AbortSignal,
): Promise<Page> {
  const page = await client.checkpoints.timeline(threadId, {
    checkpointNs: ns ?? ALL,
    limit: PAGE_STEPS,
    cursor: begin.cursor,
    signal,
  });
  const { nodes, nextCursor: cursor } = page;
  // The first page alone tells the namespaces.
  const namespaces = begin.cursor === undefined ? page.namespaces : begin.namespaces;
  const { lanes, open } = lanesFrom(nodes.map(linkOf), begin.open);
  const rows = nodes.flatMap((node, at) => {
    const own = lanes[at];
    return own ? [{ node, lanes: own }] : [];
  });
  const rowsBefore = begin.rowsBefore + rows.length;
  return {
    rows,
    namespaces,
    next: cursor === undefined ? undefined : { cursor, rowsBefore, open, namespaces },
  };
}

function linkOf({ checkpointNs: ns, checkpointId, parentCheckpointId: parent }: TimelineNode) {
  return {
    key: keyOf(ns, checkpointId),
    parent: parent === undefined ? undefined : keyOf(ns, parent),
  };
}

export function useTimeline(threadId: string, ns: string | undefined, version: string) {
  const { client } = useApi();
  const queries = useQueryClient();
  const queryKey = useMemo(() => ["timeline", threadId, ns ?? ALL], [threadId, ns]);
  const query = useInfiniteQuery<
    Page,
    Error,
    InfiniteData<Page, PageBegin>,
    readonly unknown[],
    PageBegin
  >({
    queryKey,
    queryFn: ({ pageParam, signal }) => readPage(client, { threadId, ns }, pageParam, signal),
    initialPageParam: FIRST,
    getNextPageParam: ({ next }, _pages, previous) => next && { ...next, previous },
    getPreviousPageParam: (_page, _pages, first) => first.previous,
    maxPages: PAGES_MAX,
    placeholderData: keepPreviousData,
    // The chain of pages is its own structure.
    structuralSharing: false,
  });
  const { data, hasPreviousPage, isFetchingPreviousPage, fetchPreviousPage } = query;
  const begin = data?.pageParams[0] ?? FIRST;
  const rows = useMemo(() => rowsOf(data), [data]);
  const { hasNewer, showNewest } = useNewer(queryKey, version, data);
  const isJumping = useRef(false);
  /** Goes to the page of a row that was dropped, and is too far away for the pages between to be loaded. */
  const jumpTo = async (index: number) => {
    let wanted = begin;
    while (wanted.previous && wanted.rowsBefore > index) wanted = wanted.previous;
    isJumping.current = true;
    try {
      const page = await readPage(client, { threadId, ns }, wanted);
      const jumped: InfiniteData<Page, PageBegin> = { pages: [page], pageParams: [wanted] };
      queries.setQueryData(queryKey, jumped);
    } catch {
      // The query tells what is wrong.
      await fetchPreviousPage();
    } finally {
      isJumping.current = false;
    }
  };
  /** Loads the page of a row that was dropped. */
  const loadAt = (index: number) => {
    if (!hasPreviousPage || isFetchingPreviousPage || isJumping.current) return;
    void (begin.rowsBefore - index > 2 * PAGE_STEPS ? jumpTo(index) : fetchPreviousPage());
  };
  const namespaces = data?.pages.at(-1)?.namespaces ?? [];
  return { ...query, rows, namespaces, loadAt, hasNewer, showNewest };
}

/** All rows up to the last one that is loaded. Those that were dropped are undefined. */
function rowsOf(data: InfiniteData<Page, PageBegin> | undefined): (TimelineRow | undefined)[] {
  if (!data) return [];
  const before = Array.from<undefined>({ length: data.pageParams[0]?.rowsBefore ?? 0 });
  return [...before, ...data.pages.flatMap((page) => page.rows)];
}

/** Follows the thread while its newest steps are shown. Farther down, a person is told that there are newer ones. */
function useNewer(
  queryKey: readonly unknown[],
  version: string,
  data: InfiniteData<Page, PageBegin> | undefined,
) {
  const queries = useQueryClient();
  const [hasNewer, setHasNewer] = useState(false);
  const [seen, setSeen] = useState(version);
  const isAtStart = isLive(data?.pages.length ?? 0) && !data?.pageParams[0]?.previous;
  useEffect(() => {
    if (seen === version) return;
    setSeen(version);
    if (isAtStart) void queries.invalidateQueries({ queryKey });
    else setHasNewer(true);
  }, [seen, version, isAtStart, queries, queryKey]);
  const showNewest = () => {
    setHasNewer(false);
    window.scrollTo({ top: 0 });
    void queries.resetQueries({ queryKey });
  };
  return { hasNewer, showNewest };
}
