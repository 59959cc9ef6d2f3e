/** Folders and files of a namespace or of a drive, as one kind of entry. */

import { type Query, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { type Client, type Identity, TooLargeError } from "threadkeep";
import { useApi } from "../../api/context.js";
import { UNUSED_MS } from "../../app/feed.js";
import { useIsStoreFollowed } from "../../app/followed.js";
import { hasToAsk, LIST_MS } from "../../app/live.js";
import type { FilesRoute } from "../../app/route.js";
import type { FollowedItems } from "../../app/store_refresh.js";
import { isTouchedBy } from "./spot.js";

const PAGE_ENTRIES = 1_000;
/** A file may be large, so one that is not seen any more is soon forgotten: while its changes are still told. */
const FILE_KEPT_MS = UNUSED_MS / 2;
/** Larger files are loaded more seldom while they change. */
const OFTEN_BYTES_MAX = 1_024 * 1_024;
/** Larger files are not loaded to be looked at. */
export const PREVIEW_BYTES_MAX = 8 * 1_024 * 1_024;

export interface Entry {
  path: string;
  isDir: boolean;
  size: number;
  modifiedAt: string | undefined;
}

export function useFolder(route: FilesRoute) {
  const { client, identity } = useApi();
  const isFollowed = useIsStoreFollowed();
  const { place, namespace, path, subject } = route;
  return useInfiniteQuery({
    queryKey: ["folder", place, namespace, path, subject],
    queryFn: async ({ pageParam: cursor, signal }) => {
      const options = { limit: PAGE_ENTRIES, cursor, signal };
      const page =
        place === "drive"
          ? await client.drive.list(path, { ...options, subject })
          : await client.files.ls(namespace, path, options);
      return { entries: page.entries.map(entryOf), nextCursor: page.nextCursor };
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    meta: { items: followedFiles(route, identity) },
    refetchInterval: (query) => {
      const pages = query.state.data?.pages.length ?? 0;
      return hasToAsk(isFollowed, query) && pages <= 1 ? LIST_MS : false;
    },
  });
}

export function entryOf(found: {
  path: string;
  isDir: boolean;
  size: number;
  modifiedAt?: string | undefined;
}): Entry {
  const { path, isDir, size, modifiedAt } = found;
  const isMarked = path.endsWith("/");
  return {
    path: isDir && !isMarked ? `${path}/` : path,
    isDir,
    size,
    modifiedAt: modifiedAt || undefined,
  };
}

/** The bytes of a file. TooLargeError for one that is too large to be looked at. */
export function useFile(route: FilesRoute, sizeBytesMax: number) {
  const { client, identity } = useApi();
  useIsStoreFollowed();
  const { place, namespace, path, subject } = route;
  return useQuery({
    queryKey: ["file", place, namespace, path, subject, sizeBytesMax],
    queryFn: ({ signal }) => bytesOf(client, route, sizeBytesMax, signal),
    meta: { items: { ...followedFiles(route, identity), isCostly } },
    staleTime: LIST_MS,
    gcTime: FILE_KEPT_MS,
    // What a person reads stays as it is when the same bytes come again.
    structuralSharing: (before, now) =>
      before instanceof Uint8Array && now instanceof Uint8Array && areSame(before, now)
        ? before
        : now,
  });
}

/** Whether a file takes long to load. One that is too large was loaded in part. */
function isCostly({ state: { data, error } }: Query): boolean {
  return error !== null || (data instanceof Uint8Array && data.length > OFTEN_BYTES_MAX);
}

function areSame(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  for (let at = 0; at < one.length; at += 1) if (one[at] !== other[at]) return false;
  return true;
}

function followedFiles(route: FilesRoute, identity: Identity): FollowedItems {
  return { isTouchedBy: (change) => isTouchedBy(route, identity, change) };
}

async function bytesOf(
  client: Client,
  route: FilesRoute,
  max: number,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const { place, namespace, path, subject } = route;
  if (place === "drive") {
    return await collected(await client.drive.download(path, { subject, signal }), max);
  }
  const entry = await client.files.stat(namespace, path, { signal });
  if (entry && entry.size > max) throw tooLarge(max);
  return await client.files.getContent(namespace, path, { signal });
}

async function collected(stream: ReadableStream<Uint8Array>, max: number): Promise<Uint8Array> {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
    parts.push(new Uint8Array(value));
    size += value.byteLength;
    if (size > max) {
      await reader.cancel();
      throw tooLarge(max);
    }
  }
}

function tooLarge(limit: number): TooLargeError {
  return new TooLargeError("the file is too large to be shown", { limit });
}
