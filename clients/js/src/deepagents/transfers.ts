/** Many files up or down: as few requests as the server's limits allow, and an outcome for each file. */

import type { FileDownloadResponse, FileUploadResponse } from "deepagents";
import type { Continued } from "./continued.js";
import { entryError, transferError } from "./results.js";
import type { Space } from "./space.js";

const FILES_MAX = 1_000;
/** Of the files of one request, and of one file in it: a larger one travels as it is, and alone. */
const BYTES_MAX = 16 * 1024 * 1024;
/** The error of such a one. */
const TOO_LARGE = "value_too_large";

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
      const [only] = part;
      if (only && only.sizeBytes > BYTES_MAX) {
        await space.run((files, namespace) =>
          files.putContent(namespace, space.inner(only.path), only.bytes),
        );
        return [{ path: only.path, error: null }];
      }
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
      const found: FileDownloadResponse[] = [];
      for (const [at, { bytes, error }] of results.entries()) {
        const path = part[at]?.path ?? "";
        if (bytes) {
          continued.read(path, bytes);
          found.push({ path, content: bytes, error: null });
        } else if (error === TOO_LARGE) {
          found.push(await large(space, path));
        } else {
          found.push({ path, content: null, error: entryError(error ?? "file_not_found") });
        }
      }
      return found;
    },
    (path, error) => ({ path, content: null, error }),
  );
}

async function large(space: Space, path: string): Promise<FileDownloadResponse> {
  try {
    const content = await space.run((files, namespace) =>
      files.getContent(namespace, space.inner(path)),
    );
    return { path, content, error: null };
  } catch (error) {
    return { path, content: null, error: transferError(error) };
  }
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
