/** The tenant as a whole: its audit log, its usage and its limits. */

import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { mayList } from "../../api/capabilities.js";
import { useApi } from "../../api/context.js";
import { maySee } from "../../api/grants.js";
import { COUNTED_MS, listInterval } from "../../app/live.js";
import type { AuditRoute } from "../../app/route.js";

export const PAGE_EVENTS = 100;
const LARGEST = 10;

export type AuditFilter = Omit<AuditRoute, "page">;

export function useUsage() {
  const { client } = useApi();
  return useQuery({
    queryKey: ["usage"],
    queryFn: () => client.usage(),
    refetchInterval: COUNTED_MS,
  });
}

export function useLargestThreads() {
  const { client, identity } = useApi();
  return useQuery({
    queryKey: ["threads", "largest"],
    enabled: mayList(identity, "threads"),
    queryFn: async ({ signal }) => {
      const page = await client.threads.search({
        sort: "size",
        order: "desc",
        limit: LARGEST,
        include: ["preview"],
        signal,
      });
      return page.threads;
    },
    refetchInterval: COUNTED_MS,
  });
}

export function useLargestNamespaces() {
  const { client, identity } = useApi();
  return useQuery({
    queryKey: ["namespaces", "largest"],
    enabled: maySee(identity, "namespaces"),
    queryFn: ({ signal }) => client.store.largestNamespaces([], { limit: LARGEST, signal }),
    refetchInterval: COUNTED_MS,
  });
}

export function useLimits() {
  const { client } = useApi();
  return useQuery({
    queryKey: ["limits"],
    queryFn: () => client.limits(),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function useAudit({ act, since, until }: AuditFilter) {
  const { client } = useApi();
  return useInfiniteQuery({
    queryKey: ["audit", act, since, until],
    queryFn: ({ pageParam: cursor, signal }) =>
      client.auditText({ act, since, until, limit: PAGE_EVENTS, cursor, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    refetchInterval: listInterval,
    placeholderData: keepPreviousData,
  });
}
