/** Tenants as an operator sees them: what each has stored, and its quota. */

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useApi } from "../../api/context.js";
import { COUNTED_MS, countedInterval, LIST_MS } from "../../app/live.js";

/** The server adds up what each tenant has, so a page is the longest that it gives. */
export const PAGE_TENANTS = 100;

export function useTenants() {
  const { client } = useApi();
  return useInfiniteQuery({
    queryKey: ["tenants"],
    queryFn: ({ pageParam: cursor, signal }) =>
      client.operator.tenants({ limit: PAGE_TENANTS, cursor, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    refetchInterval: countedInterval,
    structuralSharing: false,
  });
}

export function useTenantUsage(tenant: string, isKnown: boolean) {
  const { client } = useApi();
  return useQuery({
    queryKey: ["tenant", tenant],
    queryFn: ({ signal }) => client.operator.quota(tenant, { signal }),
    // A name that is not there is not asked for all the time.
    refetchInterval: ({ state }) => (state.error === null ? LIST_MS : COUNTED_MS),
    enabled: isKnown,
  });
}
