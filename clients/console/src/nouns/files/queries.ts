/** Folders and files of a namespace or of a drive, as one kind of entry. */

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { type Client, TooLargeError } from "threadkeep";
import { useApi } from "../../api/context.js";
import { LIST_MS } from "../../app/live.js";
import type { FilesRoute } from "../../app/route.js";

const PAGE_ENTRIES = 1_000;
/** Larger files are not loaded to be looked at. */
export const PREVIEW_BYTES_MAX = 8 * 1_024 * 1_024;

export interface Entry {
  path: string;
  isDir: boolean;
  size: number;
  modifiedAt: string | undefined;
}

export function useFolder(route: FilesRoute) {
  const { client } = useApi();
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
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : LIST_MS),
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
  const { client } = useApi();
  const { place, namespace, path, subject } = route;
  return useQuery({
    queryKey: ["file", place, namespace, path, subject, sizeBytesMax],
    queryFn: ({ signal }) => bytesOf(client, route, sizeBytesMax, signal),
    staleTime: LIST_MS,
    structuralSharing: false,
  });
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
