/** Snapshots, without any content of theirs. */

import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useApi } from "../../api/context.js";
import { LIST_MS, listInterval } from "../../app/live.js";

const PAGE_SNAPSHOTS = 50;

export type Labels = Record<string, string>;

export function useSnapshots(labels: Labels | undefined) {
  const { client } = useApi();
  return useInfiniteQuery({
    queryKey: ["snapshots", labels],
    queryFn: ({ pageParam: cursor, signal }) =>
      client.snapshots.list({ labels, limit: PAGE_SNAPSHOTS, cursor, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    refetchInterval: listInterval,
    placeholderData: keepPreviousData,
    structuralSharing: false,
  });
}

export function useSnapshot(snapshotId: string) {
  const { client } = useApi();
  return useQuery({
    queryKey: ["snapshot", snapshotId],
    queryFn: async () => (await client.snapshots.get(snapshotId)) ?? null,
    refetchInterval: LIST_MS,
    structuralSharing: false,
  });
}
