/** Kinds of sessions, sessions, their streams and their documents, kept current while they are shown. */

import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { ListSessionsOptions, SessionAddress } from "threadkeep";
import { mayList } from "../../api/capabilities.js";
import { useApi } from "../../api/context.js";
import { Backoff, countedInterval, LIST_MS, listInterval } from "../../app/live.js";
import { type EntriesAsk, entriesPage, nextAsk, previousAsk } from "./entries.js";

const PAGE_SESSIONS = 50;
export const PAGE_KINDS = 100;
/** Sessions below the same key that are looked through for the one of exactly this key. */
const SAME_PREFIX_MAX = 20;
/** Entries may be large, so those that are not seen any more are soon forgotten. */
const ENTRIES_KEPT_MS = 15_000;

export type SessionsFilter = { kind: string } & Pick<ListSessionsOptions, "keyPrefix" | "user">;

/** The kinds with how many sessions each has. A token for single sessions gets none. */
export function useKinds() {
  const { client, identity } = useApi();
  return useInfiniteQuery({
    queryKey: ["session kinds"],
    enabled: mayList(identity, "sessions"),
    queryFn: ({ pageParam: cursor, signal }) =>
      client.sessions.kinds({ limit: PAGE_KINDS, cursor, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    refetchInterval: countedInterval,
  });
}

export function useSessions({ kind, ...filter }: SessionsFilter) {
  const { client } = useApi();
  return useInfiniteQuery({
    queryKey: ["sessions", kind, filter],
    queryFn: ({ pageParam: cursor, signal }) =>
      client.sessions.list(kind, { ...filter, limit: PAGE_SESSIONS, cursor, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    refetchInterval: listInterval,
    placeholderData: keepPreviousData,
  });
}

/** Title, user and agent of a session. Only listings tell them, so a token for single sessions does not get them. */
export function useSessionFacts({ kind, key }: SessionAddress, enabled: boolean) {
  const { client } = useApi();
  return useQuery({
    queryKey: ["session facts", kind, key],
    queryFn: async ({ signal }) => {
      const options = { keyPrefix: key, limit: SAME_PREFIX_MAX, signal };
      const { sessions } = await client.sessions.list(kind, options);
      return sessions.find((one) => one.key.length === key.length) ?? null;
    },
    refetchInterval: LIST_MS,
    enabled,
  }).data;
}

/** The streams of a session; asked for often while they grow. */
export function useStreams({ kind, key }: SessionAddress) {
  const { client } = useApi();
  const backoff = useRef(new Backoff());
  return useQuery({
    queryKey: ["streams", kind, key],
    queryFn: async () => {
      const streams = await client.sessions.streams({ kind, key });
      backoff.current.note(JSON.stringify(streams));
      return streams;
    },
    refetchInterval: () => backoff.current.ms,
  });
}

export function useDocuments({ kind, key }: SessionAddress) {
  const { client } = useApi();
  return useQuery({
    queryKey: ["documents", kind, key],
    queryFn: () => client.sessions.listDocuments({ kind, key }),
    refetchInterval: LIST_MS,
  });
}

/** A document. `version` is that of the listing, so that the document is asked for again when it changes. */
export function useDocument(
  { kind, key }: SessionAddress,
  name: string,
  version: number | undefined,
  enabled: boolean,
) {
  const { client } = useApi();
  return useQuery({
    queryKey: ["document", kind, key, name, version],
    queryFn: async () => (await client.sessions.getDocument({ kind, key }, name)) ?? null,
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: ENTRIES_KEPT_MS,
    structuralSharing: false,
    enabled,
  });
}

interface Growing {
  stream: string;
  /** The number of its last entry. */
  head: number;
  /** When the server told that. */
  askedAt: number;
}

/** The newest entries of a stream, earlier ones when they are asked for, and new ones as the head moves. */
export function useEntries({ kind, key }: SessionAddress, { stream, head, askedAt }: Growing) {
  const { client } = useApi();
  const query = useInfiniteQuery({
    queryKey: ["entries", kind, key, stream],
    queryFn: ({ pageParam, signal }) => {
      const load = (options: object) =>
        client.sessions.load({ kind, key }, { ...options, stream, signal });
      return entriesPage(load, pageParam);
    },
    initialPageParam: { at: "end" } as EntriesAsk,
    getNextPageParam: nextAsk,
    getPreviousPageParam: previousAsk,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    gcTime: ENTRIES_KEPT_MS,
    structuralSharing: false,
  });
  const { data, fetchNextPage } = query;
  const upTo = data?.pages.at(-1)?.upTo;
  // Once for each page and each time that the head was asked for, so that a failure is not repeated at once.
  // biome-ignore lint/correctness/useExhaustiveDependencies: see above
  useEffect(() => {
    if (upTo !== undefined && head > upTo) void fetchNextPage({ cancelRefetch: false });
  }, [upTo, head, askedAt, fetchNextPage]);
  return query;
}
