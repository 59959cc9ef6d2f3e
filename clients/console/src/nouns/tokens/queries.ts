/** The keys of the tenant, the tokens that are still valid (never their texts), and the subjects. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { useApi } from "../../api/context.js";
import { countedInterval, listInterval } from "../../app/live.js";

const PAGE = 100;

export function useKeys() {
  const { client } = useApi();
  return useInfiniteQuery({
    queryKey: ["keys"],
    queryFn: ({ pageParam: cursor, signal }) => client.keys.list({ limit: PAGE, cursor, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    refetchInterval: listInterval,
    structuralSharing: false,
  });
}

export function useTokens() {
  const { client } = useApi();
  return useInfiniteQuery({
    queryKey: ["tokens"],
    queryFn: ({ pageParam: cursor, signal }) => client.tokens.list({ limit: PAGE, cursor, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    refetchInterval: listInterval,
    structuralSharing: false,
  });
}

export function useSubjects() {
  const { client } = useApi();
  return useInfiniteQuery({
    queryKey: ["subjects"],
    queryFn: ({ pageParam: cursor, signal }) =>
      client.subjects.list({ limit: PAGE, cursor, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    refetchInterval: countedInterval,
    structuralSharing: false,
  });
}
