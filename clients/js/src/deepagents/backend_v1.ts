/** `ThreadkeepBackendV1`: the same files for programs of deepagents 1.4, whose protocol has other names and answers. */

import type {
  BackendProtocolV1,
  DeleteResult,
  EditResult,
  FileData,
  FileDownloadResponse,
  FileInfo,
  FileUploadResponse,
  GrepMatch,
  WriteResult,
} from "deepagents";
import { VersionConflictError } from "../errors.js";
import { ThreadkeepBackend } from "./backend.js";
import { asError, errorText } from "./results.js";
import { Space, type ThreadkeepBackendOptions } from "./space.js";

const EMPTY = "System reminder: File exists but has empty contents";
const LINE_LENGTH_MAX = 10_000;
const NUMBER_WIDTH = 6;

/**
 * The file backend of deepagents 1.4 (its protocol V1). Lists have no place for an error there: one that fails holds a single entry that
 * says why where a path would be, so that a model reads it and nobody takes it for an empty folder. `readRaw` throws; no tool calls it.
 */
export class ThreadkeepBackendV1 implements BackendProtocolV1 {
  readonly #space: Space;
  readonly #backend: ThreadkeepBackend;

  constructor(options: ThreadkeepBackendOptions) {
    this.#space = new Space(options);
    this.#backend = new ThreadkeepBackend(options);
  }

  /** Files and folders of a folder, sorted. */
  async lsInfo(path: string): Promise<FileInfo[]> {
    const { files, error } = await this.#backend.ls(path);
    return files ?? failed(`Error listing files: ${error}`);
  }

  /** Lines with their numbers, or what is wrong. */
  async read(filePath: string, offset = 0, limit = 2_000): Promise<string> {
    const { data, error } = await this.#backend.readRaw(filePath);
    if (!data) return asError(error ?? "");
    const lines = linesOf(data);
    if (!lines) return asError(`File '${filePath}' is binary`);
    if (lines.every((line) => line.trim() === "")) return EMPTY;
    if (offset >= lines.length) {
      return asError(`Line offset ${offset} exceeds file length (${lines.length} lines)`);
    }
    return numbered(lines.slice(offset, offset + limit), offset + 1);
  }

  async readRaw(filePath: string): Promise<FileData> {
    const { data, error } = await this.#backend.readRaw(filePath);
    if (!data) throw new Error(error);
    const { created_at, modified_at } = data;
    const lines = linesOf(data);
    return lines ? { content: lines, created_at, modified_at } : data;
  }

  /** Lines that hold a text as it stands, not a regular expression; or what is wrong. */
  async grepRaw(
    pattern: string,
    path: string | null = "/",
    glob: string | null = null,
  ): Promise<GrepMatch[] | string> {
    const { matches, error } = await this.#backend.grep(pattern, path, glob);
    return matches ?? error ?? "";
  }

  /** Files whose paths below `path` match, newest first. */
  async globInfo(pattern: string, path = "/"): Promise<FileInfo[]> {
    const { files, error } = await this.#backend.glob(pattern, path);
    return files ?? failed(`Error finding files: ${error}`);
  }

  /** Creates a file, and refuses where there is one. */
  async write(filePath: string, content: string): Promise<WriteResult> {
    const onlyNew = { ifVersion: 0 };
    try {
      await this.#space.run((files, namespace) =>
        files.write(namespace, this.#space.inner(filePath), content, onlyNew),
      );
      return { path: filePath, filesUpdate: null };
    } catch (error) {
      if (!(error instanceof VersionConflictError)) return { error: errorText(error, asError) };
      const advice = "Read and then make an edit, or write to a new path.";
      return { error: `Cannot write to ${filePath} because it already exists. ${advice}` };
    }
  }

  async edit(
    filePath: string,
    oldString: string,
    newString: string,
    replaceAll = false,
  ): Promise<EditResult> {
    return await this.#backend.edit(filePath, oldString, newString, replaceAll);
  }

  async delete(filePath: string): Promise<DeleteResult> {
    return await this.#backend.delete(filePath);
  }

  async uploadFiles(files: [string, Uint8Array][]): Promise<FileUploadResponse[]> {
    return await this.#backend.uploadFiles(files);
  }

  async downloadFiles(paths: string[]): Promise<FileDownloadResponse[]> {
    return await this.#backend.downloadFiles(paths);
  }
}

function failed(text: string): FileInfo[] {
  return [{ path: text, is_dir: false, size: 0, modified_at: "" }];
}

/** undefined for bytes. */
function linesOf({ content }: FileData): string[] | undefined {
  if (Array.isArray(content)) return content;
  return typeof content === "string" ? content.split("\n") : undefined;
}

/** Long lines in several rows: 7, 7.1, 7.2. */
function numbered(lines: readonly string[], first: number): string {
  const rows = lines.flatMap((line, at) => {
    const pieces = Math.max(1, Math.ceil(line.length / LINE_LENGTH_MAX));
    return Array.from({ length: pieces }, (_, piece) => {
      const name = piece === 0 ? String(first + at) : `${first + at}.${piece}`;
      const begin = piece * LINE_LENGTH_MAX;
      return `${name.padStart(NUMBER_WIDTH)}\t${line.slice(begin, begin + LINE_LENGTH_MAX)}`;
    });
  });
  return rows.join("\n");
}
