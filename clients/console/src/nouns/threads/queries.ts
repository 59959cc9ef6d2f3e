/** Threads and their states, kept current while they are shown. */

import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useRef } from "react";
import type { SearchThreadsOptions, Thread } from "threadkeep";
import { mayList } from "../../api/capabilities.js";
import { useApi } from "../../api/context.js";
import { useIsFollowed } from "../../app/followed.js";
import { Backoff, LIST_MS, listInterval } from "../../app/live.js";
import { type Heads, readCut } from "../../content/cut.js";

const PAGE_THREADS = 50;
/** A state may be large, so one that is not seen any more is soon forgotten. */
const STATE_KEPT_MS = 15_000;

export type ThreadsFilter = Pick<SearchThreadsOptions, "status" | "q" | "owner" | "sort" | "order">;

export function useThreads(filter: ThreadsFilter) {
  const { client, identity } = useApi();
  const isFollowed = useIsFollowed();
  return useInfiniteQuery({
    queryKey: ["threads", filter],
    enabled: mayList(identity, "threads"),
    queryFn: ({ pageParam: cursor, signal }) =>
      client.threads.search({
        ...filter,
        limit: PAGE_THREADS,
        include: ["preview"],
        cursor,
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    refetchInterval: (query) => {
      const threads = query.state.data?.pages.flatMap((page) => page.threads) ?? [];
      return isFollowed && !threads.some(isBusy) ? false : listInterval(query);
    },
    placeholderData: keepPreviousData,
  });
}

/** Counts the threads that meet a filter. Undefined until the answer is there, and where the credential lists no threads. */
export function useThreadCount(filter: Pick<ThreadsFilter, "status" | "q" | "owner">) {
  const { client, identity } = useApi();
  const isFollowed = useIsFollowed();
  return useQuery({
    queryKey: ["threads", "count", filter],
    enabled: mayList(identity, "threads"),
    queryFn: ({ signal }) => client.threads.count({ ...filter, signal }),
    refetchInterval: isFollowed && filter.status !== "busy" ? false : LIST_MS,
  }).data;
}

/** Time alone ends this status: nothing tells that the process of a run has died. */
function isBusy({ status }: Thread): boolean {
  return status === "busy";
}

/** A thread; asked for often while it changes, where nothing tells of it. */
export function useThread(threadId: string) {
  const { client } = useApi();
  const isFollowed = useIsFollowed();
  const backoff = useRef(new Backoff());
  return useQuery({
    queryKey: ["thread", threadId],
    queryFn: async ({ signal }) => {
      const thread = (await client.threads.get(threadId, { signal })) ?? null;
      backoff.current.note(thread ? versionOf(thread) : "");
      return thread;
    },
    refetchInterval: ({ state: { data } }) => {
      if (!isFollowed) return backoff.current.ms;
      return data && isBusy(data) ? LIST_MS : false;
    },
  });
}

/** Changes whenever the state of a thread does. */
export function versionOf({
  generation,
  checkpointCount,
  stateUpdatedAt,
  updatedAt,
  status,
}: Thread): string {
  const at = (stateUpdatedAt ?? updatedAt).toISOString();
  return [generation, checkpointCount, at, status].join(" ");
}

export interface StateName {
  threadId: string;
  ns: string;
  /** Absent: the newest. */
  checkpoint?: string | undefined;
}

/** Messages, and entries of other lists, that a view begins with: the newest. */
export const NEWEST = 50;
/** No channel has an empty name, so no value comes with it: only what the tasks ask and write. */
const NO_VALUES = "/";

/** A state with long values cut. `version` is that of the thread, so that the newest state is asked for when there is one. */
export function useThreadState({ threadId, ns, checkpoint }: StateName, version: string) {
  const { client } = useApi();
  return useQuery({
    queryKey: ["state", threadId, ns, checkpoint ?? "", checkpoint === undefined ? version : ""],
    queryFn: async ({ signal }) =>
      (await readCut(
        (heads) =>
          client.checkpoints.state(threadId, {
            checkpointNs: ns,
            checkpointId: checkpoint,
            integers: "bigint",
            from: -NEWEST,
            ...heads,
            signal,
          }),
        NEWEST,
      )) ?? null,
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: STATE_KEPT_MS,
    structuralSharing: false,
  });
}

/** Reads the questions and writes of the tasks of a state, without its values. They are cut, unless `isWhole`. */
export function useTasks(
  { threadId, ns, checkpoint }: StateName,
  version: string,
  { isWhole, enabled = true }: { isWhole: boolean; enabled?: boolean },
) {
  const { client } = useApi();
  return useQuery({
    queryKey: ["tasks", threadId, ns, checkpoint ?? "", version, isWhole],
    queryFn: async ({ signal }) => {
      const read = (heads: Partial<Heads>) =>
        client.checkpoints.state(threadId, {
          checkpointNs: ns,
          checkpointId: checkpoint,
          integers: "bigint",
          pointer: NO_VALUES,
          ...heads,
          signal,
        });
      return (await (isWhole ? read({}) : readCut(read, NEWEST))) ?? null;
    },
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: STATE_KEPT_MS,
    structuralSharing: false,
    enabled,
  });
}
