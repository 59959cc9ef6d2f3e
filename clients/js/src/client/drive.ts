/** `client.drive`: the files of one subject as one tree, as a person sees them. */

import type { CallOptions } from "../http/deadline.js";
import { idOf } from "../wire/ids.js";
import { optionalPositiveNumber, optionalWholeNumber } from "../wire/numbers.js";
import { flag, list, number, optionalText, recordOf, text } from "../wire/records.js";
import type { Schemas } from "../wire/schemas.js";
import type { Calls } from "./calls.js";
import type { FileUrlOptions } from "./file_options.js";
import { type FileAddress, fileAddress } from "./file_records.js";
import { requireBytes } from "./files.js";
import { entriesOf } from "./pages.js";

/** A file or a folder. The size is in bytes, 0 for folders. `modifiedAt` is the text that the file holds. */
export type DriveEntry = ReturnType<typeof driveEntry>;
const driveEntry = recordOf<Schemas["DriveEntry"]>()("an entry of the drive", {
  path: text,
  name: text,
  is_dir: flag,
  size: number,
  modified_at: optionalText,
  media_type: optionalText,
  etag: optionalText,
});

/** One page of a folder. */
export type DrivePage = ReturnType<typeof drivePage>;
const drivePage = recordOf<Schemas["DriveListing"]>()("a listing of the drive", {
  path: text,
  entries: list(driveEntry),
  next_cursor: optionalText,
});

export interface DriveOptions extends CallOptions {
  /** The owner of the drive. Needed with a key of the whole tenant; absent: the subject of the key or token. */
  subject?: string | undefined;
}

export interface ListDriveOptions extends DriveOptions {
  /** All files below, instead of those of the folder and its folders. */
  recursive?: boolean | undefined;
  /** Default and most: 1,000. */
  limit?: number | undefined;
  /** `nextCursor` of the page before, with the same arguments. */
  cursor?: string | undefined;
}

export interface ScanDriveOptions extends Omit<ListDriveOptions, "limit" | "cursor"> {
  /** Entries of one request. Default: the server's. */
  pageEntries?: number | undefined;
}

export interface UploadToDriveOptions extends DriveOptions {
  /** Default: the type of a `Blob`, else by the name. */
  mediaType?: string | undefined;
}

export type DriveUrlOptions = DriveOptions & FileUrlOptions;

/**
 * Paths begin with `/`: `/memories` is the agent's memory, `/threads/{label}` has the files of a thread, everything else is the workspace. Each path is a
 * file of a namespace, which `client.files` and `client.uploads` take.
 */
export class Drive {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** One page of a folder. A path that is no folder has no entries. */
  async list(path = "/", options: ListDriveOptions = {}): Promise<DrivePage> {
    const { recursive, limit, cursor } = options;
    const query = {
      ...fileOf(path, options),
      recursive,
      limit: optionalWholeNumber(limit, "limit"),
      cursor,
    };
    return drivePage(await this.#calls.with(options).get("/api/storage/list", query));
  }

  /** Every entry of a folder. A page is asked for when the one before is used up. */
  async *scan(
    path = "/",
    options: ScanDriveOptions = {},
  ): AsyncGenerator<DriveEntry, void, undefined> {
    const { pageEntries, ...more } = options;
    const limit = optionalPositiveNumber(pageEntries, "pageEntries");
    yield* entriesOf(
      (cursor) => this.list(path, { ...more, limit, cursor }),
      (page) => page.entries,
    );
  }

  /** Create or replace a file of up to 5 GiB, in one request. Large files that may have to go on: `client.uploads`. */
  async upload(
    path: string,
    bytes: Uint8Array | Blob,
    options: UploadToDriveOptions = {},
  ): Promise<DriveEntry> {
    requireBytes(bytes);
    const ofBlob = bytes instanceof Blob && bytes.type !== "" ? bytes.type : undefined;
    const sent = { bytes, mediaType: options.mediaType ?? ofBlob };
    const query = fileOf(path, options);
    return driveEntry(
      await this.#calls.with(options).postBytes("/api/storage/upload", query, sent),
    );
  }

  /** The bytes of a file as they arrive, also over lost connections. NotFoundError. */
  async download(path: string, options: DriveOptions = {}): Promise<ReadableStream<Uint8Array>> {
    const { subject } = options;
    const query: [string, string][] = [["path", idOf(path, "path")]];
    if (subject !== undefined) query.push(["subject", subject]);
    return await this.#calls.with(options).getStream("/api/storage/download", query);
  }

  /** A file, or a folder with all that is in it. No error where there is none. */
  async delete(path: string, options: DriveOptions = {}): Promise<void> {
    const query = fileOf(path, options);
    await this.#calls.with(options).deleteSilently("/api/storage/delete", query);
  }

  /**
   * Make an address of a file, for `<img>` and previews. It ends with the key or token of this client, with the file and with the erasure
   * of the subject. NotFoundError where there is no such file, or not in this version.
   */
  async getUrl(path: string, options: DriveUrlOptions = {}): Promise<FileAddress> {
    const { ttlSeconds: seconds, version, download, show } = options;
    const query = { ...fileOf(path, options), seconds, version, download, show };
    const found = await this.#calls.with(options).get("/api/storage/url", query);
    return this.#calls.whole(fileAddress(found));
  }
}

function fileOf(path: string, { subject }: DriveOptions) {
  return { path: idOf(path, "path"), subject };
}
