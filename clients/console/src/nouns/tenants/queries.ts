/** The tenant as a whole: its audit log. */

import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { useApi } from "../../api/context.js";
import { listInterval } from "../../app/live.js";
import type { AuditRoute } from "../../app/route.js";

export const PAGE_EVENTS = 100;

export type AuditFilter = Omit<AuditRoute, "page">;

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
