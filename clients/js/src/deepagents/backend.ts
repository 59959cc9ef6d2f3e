/** `ThreadkeepBackend`: files of deepagents agents on a threadkeep server. */

import type {
  BackendProtocolV2,
  DeleteResult,
  EditResult,
  FileDownloadResponse,
  FileUploadResponse,
  GlobResult,
  GrepResult,
  LsResult,
  ReadRawResult,
  ReadResult,
  WriteResult,
} from "deepagents";
import type { FileEntry } from "../client/file_records.js";
import type { CallOptions } from "../http/deadline.js";
import { showAs } from "../http/shown.js";
import { Continued } from "./continued.js";
import { asError, dataOf, errorText, infoOf, windowOf } from "./results.js";
import { Space, type ThreadkeepBackendOptions } from "./space.js";
import { downloaded, uploaded } from "./transfers.js";

/** A read that wants the file whole. */
const ALL_LINES = 2 ** 31 - 1;

/**
 * The file backend of deepagents (its protocol V2), each call one request. Whatever goes wrong is an error in the result, in the words of
 * StoreBackend where it has some; nothing throws. The files are items of the store: this backend, StoreBackend over
 * ThreadkeepStore and the Python package see the same ones.
 */
export class ThreadkeepBackend implements BackendProtocolV2 {
  readonly #options: ThreadkeepBackendOptions;
  readonly #space: Space;
  readonly #continued = new Continued();

  constructor(options: ThreadkeepBackendOptions) {
    this.#options = options;
    this.#space = new Space(options);
    showAs(this, this.#space.url);
  }

  /** A backend of the same files with other limits. */
  withOptions(options: CallOptions): ThreadkeepBackend {
    return new ThreadkeepBackend({ ...this.#options, ...options });
  }

  /** Files and folders of a folder, sorted. */
  async ls(path: string): Promise<LsResult> {
    try {
      const found = await this.#space.run(async (files, namespace) => {
        const entries: FileEntry[] = [];
        let cursor: string | undefined;
        do {
          const page = await files.ls(namespace, this.#space.inner(path), { cursor });
          entries.push(...page.entries);
          cursor = page.nextCursor;
        } while (cursor !== undefined);
        return entries;
      });
      const files = this.#space.outer(found).map(infoOf);
      return { files: files.sort((a, b) => a.path.localeCompare(b.path)) };
    } catch (error) {
      return { error: errorText(error) };
    }
  }

  /** Lines of a text, counted from 0; a binary file whole, as bytes. */
  async read(filePath: string, offset = 0, limit = 500): Promise<ReadResult> {
    const lines = { offset: countOf(offset), limit: countOf(limit) };
    try {
      const found = await this.#space.run((files, namespace) =>
        files.read(namespace, this.#space.inner(filePath), lines),
      );
      return windowOf(found, filePath);
    } catch (error) {
      return { error: errorText(error) };
    }
  }

  /** A file whole, with its times. */
  async readRaw(filePath: string): Promise<ReadRawResult> {
    try {
      const found = await this.#space.run((files, namespace) =>
        files.read(namespace, this.#space.inner(filePath), { limit: ALL_LINES }),
      );
      return { data: dataOf(found) };
    } catch (error) {
      return { error: errorText(error) };
    }
  }

  /** Lines that hold a text, as it stands. Binary files are left out. */
  async grep(
    pattern: string,
    path: string | null = "/",
    glob: string | null = null,
    maxCount: number | null = null,
  ): Promise<GrepResult> {
    const options = {
      path: this.#space.inner(path || "/"),
      glob: glob || undefined,
      maxCount: maxCount ?? undefined,
    };
    try {
      const { matches, truncated } = await this.#space.run((files, namespace) =>
        files.grep(namespace, pattern, options),
      );
      const found = { matches: this.#space.outer(matches) };
      return truncated ? { ...found, truncated } : found;
    } catch (error) {
      return { error: errorText(error, asError) };
    }
  }

  /** Files whose paths below `path` match, newest first. */
  async glob(pattern: string, path = "/"): Promise<GlobResult> {
    const options = { path: this.#space.inner(path || "/") };
    try {
      const { matches, truncated } = await this.#space.run((files, namespace) =>
        files.glob(namespace, pattern, options),
      );
      const files = this.#space.outer(matches).map(infoOf);
      return truncated ? { files, truncated } : { files };
    } catch (error) {
      return { error: errorText(error) };
    }
  }

  /** Creates or replaces a file. Of one that is binary by its name, the content is base64. */
  async write(filePath: string, content: string): Promise<WriteResult> {
    try {
      await this.#space.run((files, namespace) =>
        files.write(namespace, this.#space.inner(filePath), content),
      );
      return { path: filePath, filesUpdate: null };
    } catch (error) {
      return { error: errorText(error, asError) };
    }
  }

  /** Replaces a text that occurs once, or everywhere. Edits at the same time do not lose each other. */
  async edit(
    filePath: string,
    oldString: string,
    newString: string,
    replaceAll = false,
  ): Promise<EditResult> {
    try {
      const { occurrences } = await this.#space.run((files, namespace) =>
        files.edit(
          namespace,
          this.#space.inner(filePath),
          { oldString, newString },
          { replaceAll },
        ),
      );
      return { path: filePath, filesUpdate: null, occurrences };
    } catch (error) {
      return { error: errorText(error, asError) };
    }
  }

  /** A file, or a folder with all below it. */
  async delete(filePath: string): Promise<DeleteResult> {
    try {
      await this.#space.run((files, namespace) =>
        files.delete(namespace, this.#space.inner(filePath)),
      );
      return { path: filePath, filesUpdate: null };
    } catch (error) {
      return { error: errorText(error, (text) => `Error deleting '${filePath}': ${text}`) };
    }
  }

  /** What became of each, in their order. */
  async uploadFiles(files: [string, Uint8Array][]): Promise<FileUploadResponse[]> {
    return await uploaded(this.#space, this.#continued, files);
  }

  /** What was found of each, in their order. */
  async downloadFiles(paths: string[]): Promise<FileDownloadResponse[]> {
    return await downloaded(this.#space, this.#continued, paths);
  }
}

/** Lines as deepagents takes them from a model. */
function countOf(lines: number): number {
  return Number.isFinite(lines) ? Math.min(ALL_LINES, Math.max(0, Math.floor(lines))) : 0;
}
