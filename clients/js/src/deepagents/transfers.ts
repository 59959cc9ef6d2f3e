/** Many files up or down: as few requests as the server's limits allow, and an outcome for each file. */

import type { FileDownloadResponse, FileUploadResponse } from "deepagents";
import type { Continued } from "./continued.js";
import { entryError, transferError } from "./results.js";
import type { Space } from "./space.js";

const FILES_MAX = 1_000;
const BYTES_MAX = 32 * 1024 * 1024;

export async function uploaded(
  space: Space,
  continued: Continued,
  files: readonly [string, Uint8Array][],
): Promise<FileUploadResponse[]> {
  const [only] = files;
  try {
    if (only && files.length === 1 && (await continued.sent(space, ...only))) {
      return [{ path: only[0], error: null }];
    }
  } catch (error) {
    return files.map(([path]) => ({ path, error: transferError(error) }));
  }
  return await inParts(
    files.map(([path, bytes]) => ({ path, bytes, sizeBytes: bytes?.length ?? 0 })),
    async (part) => {
      const sent = part.map(({ path, bytes }) => ({ path: space.inner(path), bytes }));
      const results = await space.run((files, namespace) => files.upload(namespace, sent));
      return results.map(({ error }, at) => {
        const path = part[at]?.path ?? "";
        return { path, error: error === undefined ? null : entryError(error) };
      });
    },
    (path, error) => ({ path, error }),
  );
}

export async function downloaded(
  space: Space,
  continued: Continued,
  paths: readonly string[],
): Promise<FileDownloadResponse[]> {
  return await inParts(
    paths.map((path) => ({ path, sizeBytes: 0 })),
    async (part) => {
      const wanted = part.map(({ path }) => space.inner(path));
      const results = await space.run((files, namespace) => files.download(namespace, wanted));
      return results.map(({ bytes, error }, at) => {
        const path = part[at]?.path ?? "";
        if (bytes) continued.read(path, bytes);
        return bytes === undefined
          ? { path, content: null, error: entryError(error ?? "file_not_found") }
          : { path, content: bytes, error: null };
      });
    },
    (path, error) => ({ path, content: null, error }),
  );
}

interface One {
  path: string;
  sizeBytes: number;
}

/** Sends parts one after the other. Where one fails, each file of it has its error, and the others go on. */
async function inParts<T extends One, R>(
  all: readonly T[],
  send: (part: readonly T[]) => Promise<R[]>,
  failed: (path: string, error: ReturnType<typeof entryError>) => R,
): Promise<R[]> {
  const outcomes = new Map<T, R>();
  for (const one of all) {
    if (typeof one.path !== "string") outcomes.set(one, failed(one.path, "invalid_path"));
  }
  for (const part of partsOf(all.filter((one) => !outcomes.has(one)))) {
    const results = await send(part).catch((error) =>
      part.map(({ path }) => failed(path, transferError(error))),
    );
    for (const [at, one] of part.entries()) outcomes.set(one, results[at] as R);
  }
  return all.map((one) => outcomes.get(one) as R);
}

function partsOf<T extends One>(all: readonly T[]): T[][] {
  const parts: T[][] = [];
  let sizeBytes = 0;
  for (const one of all) {
    const last = parts.at(-1);
    if (last && last.length < FILES_MAX && sizeBytes + one.sizeBytes <= BYTES_MAX) {
      last.push(one);
      sizeBytes += one.sizeBytes;
    } else {
      parts.push([one]);
      sizeBytes = one.sizeBytes;
    }
  }
  return parts;
}
