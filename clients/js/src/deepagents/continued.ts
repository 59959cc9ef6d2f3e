/**
 * A file that comes back longer than it was read: only what was added travels. deepagents keeps the history of a conversation so, by a download and an
 * upload of everything with every summary.
 */

import { BaseMismatchError, InvalidError, NoSuchFileError } from "../errors.js";
import { bytesOfName, nameOf } from "../wire/digest.js";
import type { Space } from "./space.js";

/** Shorter ones are sent whole. */
const BYTES_MIN = 16 * 1024;
const FILES_REMEMBERED_MAX = 256;

/** Remembers the lengths of files at their last read, without their contents. */
export class Continued {
  readonly #lengths = new Map<string, number>();

  read(path: string, bytes: Uint8Array): void {
    this.#lengths.delete(path);
    if (bytes.length < BYTES_MIN) return;
    this.#lengths.set(path, bytes.length);
    const [oldest] = this.#lengths.keys();
    if (this.#lengths.size > FILES_REMEMBERED_MAX && oldest !== undefined) {
      this.#lengths.delete(oldest);
    }
  }

  /**
   * Whether the file is on the server now as it is here, by an append. The server appends only to what begins the bytes here, so a file that
   * somebody else changed is never continued.
   */
  async sent(space: Space, path: string, bytes: Uint8Array): Promise<boolean> {
    const length = this.#lengths.get(path);
    if (length === undefined || bytes.length <= length) return false;
    const added = textOf(bytes.subarray(length));
    if (added === undefined) return false;
    const baseSha256 = hexOf(bytesOfName(await nameOf(bytes.subarray(0, length))));
    try {
      await space.run((files, namespace) =>
        files.append(namespace, space.inner(path), added, { baseSha256 }),
      );
    } catch (error) {
      this.#lengths.delete(path);
      if (isOfBase(error)) return false;
      throw error;
    }
    this.#lengths.set(path, bytes.length);
    return true;
  }
}

/** Nothing happened, because the file is not, or cannot be, what the bytes continue. */
function isOfBase(error: unknown): boolean {
  return (
    error instanceof BaseMismatchError ||
    error instanceof NoSuchFileError ||
    error instanceof InvalidError
  );
}

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
