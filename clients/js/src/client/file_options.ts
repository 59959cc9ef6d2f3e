/** Declares the options of the calls of `client.files`. */

import type { CallOptions } from "../http/deadline.js";
import type { Schemas } from "../wire/schemas.js";

/** The deepagents package whose rules the server follows for patterns, sizes, orders, lines, texts of errors and the form of files. */
export type Dialect = Schemas["FileDialect"];

export interface FileOptions extends CallOptions {
  /** Default "javascript". */
  dialect?: Dialect | undefined;
}

export interface LsOptions extends FileOptions {
  /** All files below, instead of those of the folder and its folders. */
  recursive?: boolean | undefined;
  /** Default and most: 10,000. */
  limit?: number | undefined;
  /** `nextCursor` of the page before, with the same arguments. */
  cursor?: string | undefined;
}

export interface ReadFileOptions extends FileOptions {
  /** Lines to skip. */
  offset?: number | undefined;
  /** Lines to read. Default 500, in Python's dialect 2,000. */
  limit?: number | undefined;
}

export interface ChangeFileOptions extends FileOptions {
  /** Only if the file has this version (0: there is none), else VersionConflictError. */
  ifVersion?: number | undefined;
}

export interface AppendFileOptions extends ChangeFileOptions {
  /** Only if this is the SHA-256 (hexadecimal) of the content so far, else BaseMismatchError. */
  baseSha256?: string | undefined;
}

export interface EditFileOptions extends ChangeFileOptions {
  replaceAll?: boolean | undefined;
}

export interface GlobFilesOptions extends FileOptions {
  path?: string | undefined;
  limit?: number | undefined;
}

export interface GrepFilesOptions extends FileOptions {
  path?: string | undefined;
  /** Only files whose names match. */
  glob?: string | undefined;
  maxCount?: number | undefined;
}

export interface MoveFilesOptions extends FileOptions {
  toNamespace?: readonly string[] | undefined;
  overwrite?: boolean | undefined;
  /** Of the source. */
  ifVersion?: number | undefined;
}

export interface PutContentOptions extends CallOptions {
  /** Default: by the name. */
  mediaType?: string | undefined;
  ifVersion?: number | undefined;
}

export interface FileToUpload {
  path: string;
  bytes: Uint8Array;
  /** Default: by the name. */
  mediaType?: string | undefined;
}

export interface FileUrlOptions extends CallOptions {
  /** 1 to 86,400, default an hour; no longer than the key or token of this client. */
  ttlSeconds?: number | undefined;
  /** Only this version of the file. */
  version?: number | undefined;
  /** As an attachment, whatever its type. */
  download?: boolean | undefined;
  /** HTML and SVG are shown, too, without scripts, forms and network. The server needs `--files-origin`, else InvalidError. */
  show?: "isolated" | undefined;
}
