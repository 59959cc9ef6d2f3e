/** `Workspace`: what has no route. Its files have two names, with `/workspace` before them and without. */

import type {
  AnyBackendProtocol,
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

/** A backend that can do everything. */
export type WholeBackend = Required<BackendProtocolV2> & AnyBackendProtocol;

const NAME = "/workspace";

/**
 * Answers have the spelling of the question. A file whose short name belongs to a route, such as `/memories/x` of the workspace, is shown with the
 * long one: only by that it can be reached.
 */
export class Workspace implements BackendProtocolV2 {
  readonly #backend: WholeBackend;
  readonly #taken: readonly string[];

  /** `taken`: the folders of routes, without a slash at their end. */
  constructor(backend: WholeBackend, taken: readonly string[]) {
    this.#backend = backend;
    this.#taken = [NAME, ...taken];
  }

  async ls(path: string): Promise<LsResult> {
    const result = await this.#backend.ls(inner(path));
    return result.files ? { ...result, files: this.#shown(result.files, path) } : result;
  }

  async read(filePath: string, offset?: number, limit?: number): Promise<ReadResult> {
    return await this.#backend.read(inner(filePath), offset, limit);
  }

  async readRaw(filePath: string): Promise<ReadRawResult> {
    return await this.#backend.readRaw(inner(filePath));
  }

  async grep(
    pattern: string,
    path?: string | null,
    glob?: string | null,
    maxCount?: number | null,
  ): Promise<GrepResult> {
    const asked = path || "/";
    const result = await this.#backend.grep(pattern, inner(asked), glob, maxCount);
    return result.matches ? { ...result, matches: this.#shown(result.matches, asked) } : result;
  }

  async glob(pattern: string, path?: string): Promise<GlobResult> {
    const asked = path || "/";
    const result = await this.#backend.glob(pattern, inner(asked));
    return result.files ? { ...result, files: this.#shown(result.files, asked) } : result;
  }

  async write(filePath: string, content: string): Promise<WriteResult> {
    return asAsked(await this.#backend.write(inner(filePath), content), filePath);
  }

  async edit(
    filePath: string,
    oldString: string,
    newString: string,
    replaceAll?: boolean,
  ): Promise<EditResult> {
    const result = await this.#backend.edit(inner(filePath), oldString, newString, replaceAll);
    return asAsked(result, filePath);
  }

  async delete(filePath: string): Promise<DeleteResult> {
    return asAsked(await this.#backend.delete(inner(filePath)), filePath);
  }

  async uploadFiles(files: [string, Uint8Array][]): Promise<FileUploadResponse[]> {
    const sent = files.map(([path, bytes]): [string, Uint8Array] => [inner(path), bytes]);
    const done = await this.#backend.uploadFiles(sent);
    return done.map((one, at) => asAsked(one, files[at]?.[0] ?? one.path));
  }

  async downloadFiles(paths: string[]): Promise<FileDownloadResponse[]> {
    const found = await this.#backend.downloadFiles(paths.map(inner));
    return found.map((one, at) => asAsked(one, paths[at] ?? one.path));
  }

  #shown<T extends { path: string }>(found: readonly T[], asked: string): T[] {
    return found.map((one) => {
      const isLong = isBelow(asked, NAME) || this.#taken.some((name) => isBelow(one.path, name));
      return isLong ? { ...one, path: NAME + one.path } : one;
    });
  }
}

/** The path of an answer is the one that was asked for. */
export function asAsked<T extends { path?: string }>(result: T, path: string): T {
  return result.path === undefined ? result : { ...result, path };
}

/** Whether a path is a folder, or in it. */
export function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}

function inner(path: string): string {
  return isBelow(path, NAME) ? path.slice(NAME.length) || "/" : path;
}
