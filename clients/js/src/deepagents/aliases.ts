/** `ThreadkeepRoutes`: a CompositeBackend that knows second names of folders. */

import {
  CompositeBackend,
  type DeleteResult,
  type EditResult,
  type FileDownloadResponse,
  type FileUploadResponse,
  type GlobResult,
  type GrepResult,
  type LsResult,
  type ReadRawResult,
  type ReadResult,
  type WriteResult,
} from "deepagents";
import { asAsked, isBelow } from "./workspace.js";

/** Second names and what they mean, both without a slash at the end. */
export type Aliases = Readonly<Record<string, string>>;
type Composed = ConstructorParameters<typeof CompositeBackend>;

/**
 * A path that begins with a second name means the folder of the first one. Answers have the spelling of the question; a search of everything
 * finds each file once, under its first name.
 */
export class ThreadkeepRoutes extends CompositeBackend {
  readonly #aliases: Aliases;

  constructor(fallback: Composed[0], routes: Composed[1], aliases: Aliases) {
    super(fallback, routes);
    this.#aliases = aliases;
  }

  override async ls(path: string): Promise<LsResult> {
    const named = this.#named(path);
    const result = await super.ls(named.path);
    return result.files ? { ...result, files: named.back(result.files) } : result;
  }

  override async read(filePath: string, offset?: number, limit?: number): Promise<ReadResult> {
    return await super.read(this.#named(filePath).path, offset, limit);
  }

  override async readRaw(filePath: string): Promise<ReadRawResult> {
    return await super.readRaw(this.#named(filePath).path);
  }

  override async grep(
    pattern: string,
    path?: string,
    glob?: string | null,
    maxCount?: number | null,
  ): Promise<GrepResult> {
    const named = this.#named(path || "/");
    const result = await super.grep(pattern, named.path, glob, maxCount);
    return result.matches ? { ...result, matches: named.back(result.matches) } : result;
  }

  override async glob(pattern: string, path?: string): Promise<GlobResult> {
    const named = this.#named(path || "/");
    const result = await super.glob(pattern, named.path);
    return result.files ? { ...result, files: named.back(result.files) } : result;
  }

  override async write(filePath: string, content: string): Promise<WriteResult> {
    return asAsked(await super.write(this.#named(filePath).path, content), filePath);
  }

  override async edit(
    filePath: string,
    oldString: string,
    newString: string,
    replaceAll?: boolean,
  ): Promise<EditResult> {
    const { path } = this.#named(filePath);
    return asAsked(await super.edit(path, oldString, newString, replaceAll), filePath);
  }

  override async delete(filePath: string): Promise<DeleteResult> {
    return asAsked(await super.delete(this.#named(filePath).path), filePath);
  }

  override async uploadFiles(files: [string, Uint8Array][]): Promise<FileUploadResponse[]> {
    const sent = files.map(([path, bytes]): [string, Uint8Array] => [
      this.#named(path).path,
      bytes,
    ]);
    const done = await super.uploadFiles(sent);
    return done.map((one, at) => ({ ...one, path: files[at]?.[0] ?? one.path }));
  }

  override async downloadFiles(paths: string[]): Promise<FileDownloadResponse[]> {
    const found = await super.downloadFiles(paths.map((path) => this.#named(path).path));
    return found.map((one, at) => ({ ...one, path: paths[at] ?? one.path }));
  }

  #named(path: string) {
    for (const [alias, first] of Object.entries(this.#aliases)) {
      if (!isBelow(path, alias)) continue;
      return {
        path: first + path.slice(alias.length),
        back: <T extends { path: string }>(found: T[]): T[] =>
          found.map((one) => ({ ...one, path: alias + one.path.slice(first.length) })),
      };
    }
    return { path, back: <T>(found: T[]): T[] => found };
  }
}
