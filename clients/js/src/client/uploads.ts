/** `client.uploads`: files that are sent in parts, and go on after an interruption. */

import { InvalidError, NotFoundError, ProtocolError } from "../errors.js";
import type { CallOptions } from "../http/deadline.js";
import { hexOfName, nameOf } from "../wire/digest.js";
import { idOf, namespaceOf } from "../wire/ids.js";
import { optionalWholeNumber, positiveNumber, wholeNumber } from "../wire/numbers.js";
import type { Calls } from "./calls.js";
import { type StoredFile, storedFile } from "./file_records.js";
import { Files, requireBytes } from "./files.js";
import { begunUpload, type Upload, type UploadPart, upload, uploadPart } from "./upload_records.js";

const PART_BYTES = 4 << 20;
/** Up to here a file is an item, which agents read as text. A file that came in parts is kept beside the items. */
const ITEM_BYTES_MAX = 16 << 20;
const UPLOADS = "/v1/files/uploads";
const UPLOAD = "/v1/files/uploads/{upload_id}";

export interface CompleteUploadOptions extends CallOptions {
  /** Exactly these parts must have arrived, else InvalidError naming `parts`. Absent: all that have arrived. */
  parts?: readonly Pick<UploadPart, "part" | "sha256">[] | undefined;
  /** Default: by the name. */
  mediaType?: string | undefined;
  /** Only if the file has this version (0: there is none), else VersionConflictError. */
  ifVersion?: number | undefined;
}

/** Counts the bytes of an upload that have arrived. With `uploadId` it goes on after an interruption; a file that is sent in one request has none. */
export interface UploadProgress {
  uploadId: string | undefined;
  /** Bytes that have arrived. */
  sentBytes: number;
  totalBytes: number;
}

export interface SendUploadOptions extends Omit<CompleteUploadOptions, "parts"> {
  /** Go on with this upload: parts that have arrived with the same bytes are not sent again. Absent: a new one. */
  uploadId?: string | undefined;
  /** Of every part but the last. Default 4 MiB. An upload that goes on keeps its own. */
  partSizeBytes?: number | undefined;
  /** Called when the upload has begun, and after each part. */
  onProgress?: ((progress: UploadProgress) => void) | undefined;
}

/** Nothing of an upload shows before it is completed. One to which nothing was added for a day is removed. */
export class Uploads {
  readonly #calls: Calls;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /**
   * Send a file of up to 5 GiB. Up to 16 MiB it is one request, and the file is an item, as agents write them. A larger one travels in parts,
   * one after the other, and is kept beside the items: `files.read` and the store throw TooLargeError for it. A `Blob`, such as a file of an
   * input, is read part by part.
   *
   * After an abort (`signal`) or an error the parts stay: call it again with the `uploadId` that `onProgress` told, or `abort` it.
   * `timeoutMs` is the time of each request. NotFoundError where the upload of `uploadId` is gone; InvalidError where it is of another
   * file, or where the file has got shorter meanwhile; VersionConflictError, QuotaExceededError.
   */
  async send(
    namespace: readonly string[],
    path: string,
    file: Uint8Array | Blob,
    options: SendUploadOptions = {},
  ): Promise<StoredFile> {
    const source = sourceOf(file);
    const partSizeBytes = positiveNumber(options.partSizeBytes ?? PART_BYTES, "partSizeBytes");
    if (options.uploadId === undefined && source.sizeBytes <= ITEM_BYTES_MAX) {
      return await this.#sendWhole(namespace, path, file, source.sizeBytes, options);
    }
    const { onProgress, mediaType, ifVersion, timeoutMs, signal } = options;
    const limits = { timeoutMs, signal };
    const { uploadId, arrived } = await this.#begun(namespace, path, options.uploadId, limits);
    const sizeBytes = longest([...arrived.values()]) || partSizeBytes;
    const parts: UploadPart[] = [];
    let sentBytes = 0;
    do {
      onProgress?.({ uploadId, sentBytes, totalBytes: source.sizeBytes });
      signal?.throwIfAborted();
      const bytes = await source.read(sentBytes, sentBytes + sizeBytes);
      parts.push(
        await this.#sendPart({ uploadId, part: parts.length + 1, bytes }, arrived, limits),
      );
      sentBytes += bytes.length;
    } while (sentBytes < source.sizeBytes);
    onProgress?.({ uploadId, sentBytes, totalBytes: source.sizeBytes });
    return await this.complete(uploadId, { ...limits, parts, mediaType, ifVersion });
  }

  /** Begin an upload: its id. QuotaExceededError where the tenant has no room. */
  async begin(
    namespace: readonly string[],
    path: string,
    options: CallOptions = {},
  ): Promise<string> {
    const body = { namespace: namespaceOf(namespace), path: idOf(path, "path") };
    return begunUpload(await this.#calls.with(options).write(UPLOADS, body)).uploadId;
  }

  /** An upload with the parts that have arrived; undefined where there is none, or it is not the caller's. */
  async get(uploadId: string, options: CallOptions = {}): Promise<Upload | undefined> {
    try {
      const segments = { upload_id: uploadId };
      return upload(await this.#calls.with(options).get(UPLOAD, {}, segments));
    } catch (error) {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    }
  }

  /** Put a part, 1 to 10,000, in any order. One that is sent again replaces the earlier one. NotFoundError, QuotaExceededError. */
  async putPart(
    uploadId: string,
    part: number,
    bytes: Uint8Array | Blob,
    options: CallOptions = {},
  ): Promise<UploadPart> {
    requireBytes(bytes);
    const segments = { upload_id: uploadId, part: wholeNumber(part, "part") };
    const path = `${UPLOAD}/parts/{part}` as const;
    return uploadPart(await this.#calls.with(options).putBytes(path, [], { bytes }, segments));
  }

  /**
   * Make the file of the parts, from 1 without a gap. Again, for a day: the same answer. NotFoundError; InvalidError naming `parts` for
   * missing and other parts; VersionConflictError.
   */
  async complete(uploadId: string, options: CompleteUploadOptions = {}): Promise<StoredFile> {
    const { parts, mediaType, ifVersion } = options;
    const body = {
      parts: parts?.map(({ part, sha256 }) => ({ part, sha256 })),
      media_type: mediaType,
      if_version: optionalWholeNumber(ifVersion, "ifVersion"),
    };
    const more = { segments: { upload_id: uploadId } };
    return storedFile(await this.#calls.with(options).write(`${UPLOAD}/complete`, body, more));
  }

  /** Remove an upload and its parts. Can be repeated; a file that was completed stays. */
  async abort(uploadId: string, options: CallOptions = {}): Promise<void> {
    await this.#calls.with(options).delete(UPLOAD, {}, { upload_id: uploadId });
  }

  async #sendWhole(
    namespace: readonly string[],
    path: string,
    file: Uint8Array | Blob,
    totalBytes: number,
    { onProgress, ...options }: SendUploadOptions,
  ): Promise<StoredFile> {
    onProgress?.({ uploadId: undefined, sentBytes: 0, totalBytes });
    const stored = await new Files(this.#calls).putContent(namespace, path, file, options);
    onProgress?.({ uploadId: undefined, sentBytes: totalBytes, totalBytes });
    return stored;
  }

  /** Sends a part, if it has not arrived with the same bytes before. */
  async #sendPart(
    { uploadId, part, bytes }: { uploadId: string; part: number; bytes: Uint8Array },
    arrived: ReadonlyMap<number, UploadPart>,
    limits: CallOptions,
  ): Promise<UploadPart> {
    const sha256 = hexOfName(await nameOf(bytes));
    const before = arrived.get(part);
    if (before?.sha256 === sha256 && before.sizeBytes === bytes.length) return before;
    const sent = await this.putPart(uploadId, part, bytes, limits);
    if (sent.sha256 !== sha256) throw new ProtocolError("a part has arrived with other bytes");
    return sent;
  }

  /** A new upload, or the one that goes on, with the parts that have arrived. */
  async #begun(
    namespace: readonly string[],
    path: string,
    uploadId: string | undefined,
    limits: CallOptions,
  ): Promise<{ uploadId: string; arrived: Map<number, UploadPart> }> {
    if (uploadId === undefined) {
      return { uploadId: await this.begin(namespace, path, limits), arrived: new Map() };
    }
    const found = await this.get(uploadId, limits);
    if (!found) throw new NotFoundError("there is no such upload", { field: "uploadId" });
    const labels = namespaceOf(namespace);
    const isSame =
      found.path === path &&
      found.namespace.length === labels.length &&
      labels.every((label, at) => label === found.namespace[at]);
    if (!isSame) throw new InvalidError("the upload is of another file", { field: "uploadId" });
    return { uploadId, arrived: new Map(found.parts.map((part) => [part.part, part])) };
  }
}

/** The size of the parts of an upload: only the last one may be shorter. 0 where there are none. */
function longest(parts: readonly UploadPart[]): number {
  return parts.reduce((most, { sizeBytes }) => Math.max(most, sizeBytes), 0);
}

/** Reads a file by ranges. Throws InvalidError. */
function sourceOf(file: Uint8Array | Blob): {
  sizeBytes: number;
  read(from: number, to: number): Promise<Uint8Array>;
} {
  if (file instanceof Uint8Array) {
    return { sizeBytes: file.length, read: async (from, to) => file.subarray(from, to) };
  }
  requireBytes(file);
  return {
    sizeBytes: file.size,
    read: async (from, to) => new Uint8Array(await file.slice(from, to).arrayBuffer()),
  };
}
