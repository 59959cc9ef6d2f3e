/** Keys, the tokens that are still valid (never their texts), and the subjects. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { useApi } from "../../api/context.js";
import { countedInterval, listInterval } from "../../app/live.js";
import { type KeyOwner, useKeyCalls } from "./key_calls.js";

const PAGE = 100;

export function useKeys(owner: KeyOwner) {
  const { list } = useKeyCalls(owner);
  return useInfiniteQuery({
    queryKey: ["keys", owner],
    queryFn: ({ pageParam: cursor, signal }) => list({ limit: PAGE, cursor, signal }),
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
