/** `client.files`: files of a namespace, each call one request. */

import { InvalidError, NoSuchFileError, ProtocolError } from "../errors.js";
import type { CallOptions } from "../http/deadline.js";
import { listIn, numberIn } from "../wire/answers.js";
import { namespaceOf } from "../wire/ids.js";
import { wellFormed } from "../wire/packing.js";
import { wideOnWire } from "../wire/wide_text.js";
import type { Calls } from "./calls.js";
import type {
  AppendFileOptions,
  ChangeFileOptions,
  EditFileOptions,
  FileOptions,
  FileToUpload,
  FileUrlOptions,
  GlobFilesOptions,
  GrepFilesOptions,
  LsOptions,
  MoveFilesOptions,
  PutContentOptions,
  ReadFileOptions,
} from "./file_options.js";
import {
  type AppendedFile,
  appendedFile,
  type DownloadedFile,
  downloadedFile,
  type EditedFile,
  editedFile,
  type FileAddress,
  type FileEntry,
  type FileLines,
  type FileMatches,
  type FilePage,
  type FileWindow,
  fileAddress,
  fileEntry,
  fileLines,
  fileMatches,
  filePage,
  fileWindow,
  type MovedFiles,
  movedFiles,
  type StoredFile,
  storedFile,
  type UploadedFile,
  uploadedFile,
  type WrittenFile,
  writtenFile,
} from "./file_records.js";

/** The error of a file of a download that comes when it is asked for again. */
const TOO_LARGE_FOR_BATCH = "too_large_for_batch";

/**
 * Files are items of the store in the form of deepagents' StoreBackend. A namespace is exact: the files of namespaces below it are
 * not in it. Failures throw the types of this package, with the texts of deepagents in `detail`.
 */
export class Files {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** One page of a folder, which is empty where there is none. */
  async ls(namespace: readonly string[], path = "/", options: LsOptions = {}): Promise<FilePage> {
    const { recursive, limit, cursor } = options;
    const body = { ...placeOf(namespace, options), ...at(path), recursive, limit, cursor };
    return filePage(await this.#calls.with(options).read("/v1/files/ls", body));
  }

  /** Throws NoSuchFileError where there is no such file. */
  async read(
    namespace: readonly string[],
    path: string,
    options: ReadFileOptions = {},
  ): Promise<FileWindow> {
    const { offset, limit } = options;
    const body = { ...placeOf(namespace, options), ...at(path), offset, limit };
    return fileWindow(await this.#calls.with(options).read("/v1/files/read", body));
  }

  /** Creates or replaces; the time of creation stays. */
  async write(
    namespace: readonly string[],
    path: string,
    content: string,
    options: ChangeFileOptions = {},
  ): Promise<WrittenFile> {
    const body = {
      ...changeOf(namespace, path, options),
      content: anyTextOf(content, "content"),
    };
    return writtenFile(await this.#calls.with(options).once("/v1/files/write", body));
  }

  /** Adds to the end; creates the file where there is none and no base is named. */
  async append(
    namespace: readonly string[],
    path: string,
    content: string,
    options: AppendFileOptions = {},
  ): Promise<AppendedFile> {
    const body = {
      ...changeOf(namespace, path, options),
      content: anyTextOf(content, "content"),
      base_sha256: options.baseSha256,
    };
    return appendedFile(await this.#calls.with(options).once("/v1/files/append", body));
  }

  /** Replaces a text that occurs once, or with `replaceAll` everywhere. Editors at the same time do not lose each other's work. */
  async edit(
    namespace: readonly string[],
    path: string,
    replacement: { oldString: string; newString: string },
    options: EditFileOptions = {},
  ): Promise<EditedFile> {
    const body = {
      ...changeOf(namespace, path, options),
      old_string: anyTextOf(replacement.oldString, "oldString"),
      new_string: anyTextOf(replacement.newString, "newString"),
      replace_all: options.replaceAll,
    };
    return editedFile(await this.#calls.with(options).once("/v1/files/edit", body));
  }

  /** Files whose paths match, newest first. */
  async glob(
    namespace: readonly string[],
    pattern: string,
    options: GlobFilesOptions = {},
  ): Promise<FileMatches> {
    const { path, limit } = options;
    const body = {
      ...placeOf(namespace, options),
      ...(path === undefined ? {} : at(path)),
      pattern: textOf(pattern, "pattern"),
      limit,
    };
    return fileMatches(await this.#calls.with(options).read("/v1/files/glob", body));
  }

  /** Lines that hold a text, as it stands. Binary files are left out. */
  async grep(
    namespace: readonly string[],
    pattern: string,
    options: GrepFilesOptions = {},
  ): Promise<FileLines> {
    const { path, glob, maxCount: max_count } = options;
    const body = {
      ...placeOf(namespace, options),
      ...(path === undefined ? {} : at(path)),
      pattern: anyTextOf(pattern, "pattern"),
      glob: glob === undefined ? undefined : textOf(glob, "glob"),
      max_count,
    };
    return fileLines(await this.#calls.with(options).read("/v1/files/grep", body));
  }

  /** A file, or a folder with all below it: how many files. Throws NoSuchFileError where there is none. */
  async delete(
    namespace: readonly string[],
    path: string,
    options: ChangeFileOptions = {},
  ): Promise<number> {
    const body = changeOf(namespace, path, options);
    return numberIn(await this.#calls.with(options).once("/v1/files/delete", body), "deleted");
  }

  /** What became of each, in their order. */
  async upload(
    namespace: readonly string[],
    files: readonly FileToUpload[],
    options: FileOptions = {},
  ): Promise<UploadedFile[]> {
    const sent = files.map(({ path, bytes, mediaType: media_type }) => {
      if (!(bytes instanceof Uint8Array)) {
        throw new InvalidError("bytes must be a Uint8Array", { field: "files.bytes" });
      }
      return { ...at(path), bytes, ...(media_type === undefined ? {} : { media_type }) };
    });
    const body = { ...placeOf(namespace, options), files: sent };
    const answer = await this.#calls.with(options).once("/v1/files/upload", body);
    return resultsOf(answer, files.length).map(uploadedFile);
  }

  /** Each file whole, in the order of the paths. What is too much for one answer is asked for again. */
  async download(
    namespace: readonly string[],
    paths: readonly string[],
    options: FileOptions = {},
  ): Promise<DownloadedFile[]> {
    const found: DownloadedFile[] = [];
    while (found.length < paths.length) {
      const wanted = paths.slice(found.length);
      const part = await this.#download(namespace, wanted, options);
      const end = part.findIndex(({ error }) => error === TOO_LARGE_FOR_BATCH);
      // The first file is in every answer, so this comes to an end.
      found.push(...(end > 0 ? part.slice(0, end) : part));
    }
    return found;
  }

  /** A file of any size, as it is. */
  async getContent(
    namespace: readonly string[],
    path: string,
    options: CallOptions = {},
  ): Promise<Uint8Array> {
    return await this.#calls
      .with(options)
      .getBytes("/v1/files/content", contentOf(namespace, path));
  }

  /** Creates or replaces a file of any size. Over 16 MiB it is known to the files calls only, and not to the store. */
  async putContent(
    namespace: readonly string[],
    path: string,
    bytes: Uint8Array | Blob,
    options: PutContentOptions = {},
  ): Promise<StoredFile> {
    const { mediaType, ifVersion } = options;
    const query = contentOf(namespace, path);
    if (ifVersion !== undefined) query.push(["if_version", String(ifVersion)]);
    requireBytes(bytes);
    return storedFile(
      await this.#calls.with(options).putBytes("/v1/files/content", query, { bytes, mediaType }),
    );
  }

  /** Make an address of a file, as `client.drive.getUrl` does for files of a drive. NotFoundError where there is no such file. */
  async getUrl(
    namespace: readonly string[],
    path: string,
    options: FileUrlOptions = {},
  ): Promise<FileAddress> {
    const { ttlSeconds: seconds, version, download, show } = options;
    const query = contentOf(namespace, path);
    for (const [name, value] of Object.entries({ seconds, version, download, show })) {
      if (value !== undefined) query.push([name, String(value)]);
    }
    const found = await this.#calls.with(options).getWith("/v1/files/url", query);
    return this.#calls.whole(fileAddress(found));
  }

  /** What is known of a file without its content; undefined where there is none. */
  async stat(
    namespace: readonly string[],
    path: string,
    options: FileOptions = {},
  ): Promise<FileEntry | undefined> {
    const body = { ...placeOf(namespace, options), ...at(path) };
    try {
      const { entry } = await this.#calls.with(options).read("/v1/files/stat", body);
      return fileEntry(entry);
    } catch (error) {
      if (error instanceof NoSuchFileError) return undefined;
      throw error;
    }
  }

  /** A file, or a folder whole. Throws PathTakenError where there is one already, without `overwrite`. */
  async move(
    namespace: readonly string[],
    from: string,
    to: string,
    options: MoveFilesOptions = {},
  ): Promise<MovedFiles> {
    return movedFiles(
      await this.#calls.with(options).once("/v1/files/move", moveOf(namespace, from, to, options)),
    );
  }

  /** The same, and the source stays. */
  async copy(
    namespace: readonly string[],
    from: string,
    to: string,
    options: MoveFilesOptions = {},
  ): Promise<MovedFiles> {
    return movedFiles(
      await this.#calls.with(options).once("/v1/files/copy", moveOf(namespace, from, to, options)),
    );
  }

  async #download(
    namespace: readonly string[],
    paths: readonly string[],
    options: FileOptions,
  ): Promise<DownloadedFile[]> {
    const body = { ...placeOf(namespace, options), paths: paths.map((path) => at(path).path) };
    const answer = await this.#calls.with(options).read("/v1/files/download", body);
    return resultsOf(answer, paths.length).map(downloadedFile);
  }
}

function placeOf(namespace: readonly string[], { dialect = "javascript" }: FileOptions) {
  return { namespace: namespaceOf(namespace), dialect };
}

function contentOf(namespace: readonly string[], path: string): [string, string][] {
  const { namespace: labels } = placeOf(namespace, {});
  return [
    ...labels.map((label): [string, string] => ["ns", label]),
    ["path", textOf(path, "path")],
  ];
}

function changeOf(namespace: readonly string[], path: string, options: ChangeFileOptions) {
  return { ...placeOf(namespace, options), ...at(path), if_version: options.ifVersion };
}

function moveOf(namespace: readonly string[], from: string, to: string, options: MoveFilesOptions) {
  const { toNamespace, overwrite, ifVersion: if_version } = options;
  const place = placeOf(namespace, options);
  const to_namespace = toNamespace && placeOf(toNamespace, options).namespace;
  return {
    ...place,
    from: anyTextOf(from, "from"),
    to: anyTextOf(to, "to"),
    to_namespace,
    overwrite,
    if_version,
  };
}

function at(path: string): { path: string } {
  return { path: anyTextOf(path, "path") };
}

/** Throws InvalidError naming `bytes`. */
export function requireBytes(bytes: unknown): asserts bytes is Uint8Array | Blob {
  if (bytes instanceof Uint8Array || bytes instanceof Blob) return;
  throw new InvalidError("bytes must be a Uint8Array or a Blob", { field: "bytes" });
}

/** Text that UTF-8 can hold. */
function textOf(value: unknown, field: string): string {
  return wellFormed(stringOf(value, field), field);
}

function anyTextOf(value: unknown, field: string): string {
  return wideOnWire(stringOf(value, field));
}

function stringOf(value: unknown, field: string): string {
  if (typeof value !== "string") throw new InvalidError(`${field} must be a string`, { field });
  return value;
}

function resultsOf(answer: { results: object[] }, count: number): object[] {
  const results = listIn(answer, "results");
  if (results.length !== count)
    throw new ProtocolError("the answer has too many or too few results");
  return results;
}
