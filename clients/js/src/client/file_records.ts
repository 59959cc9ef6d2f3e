/** Reads the answers of the file calls into records of JavaScript. Times are the texts that the files hold. */

import { bytesIn, objectOf } from "../wire/answers.js";
import {
  flag,
  list,
  number,
  optionalNumber,
  optionalText,
  optionalWideText,
  recordOf,
  text,
  time,
  wideText,
} from "../wire/records.js";
import type { Schemas } from "../wire/schemas.js";
import { wideTextIn } from "../wire/wide_text.js";

/** A file or a folder. The path of a folder ends with a slash; its size is 0 and it has no times. */
export type FileEntry = ReturnType<typeof fileEntry>;
export const fileEntry = recordOf<Schemas["FileEntry"]>()("an entry", {
  path: wideText,
  is_dir: flag,
  size: number,
  modified_at: wideText,
  created_at: optionalWideText,
  media_type: optionalText,
  version: optionalNumber,
  etag: optionalText,
  sha256: optionalText,
});

/** An address that opens one file by GET without a key, until it expires. Hand it out like a key. */
export type FileAddress = ReturnType<typeof fileAddress>;
export const fileAddress = recordOf<Schemas["FileAddress"]>()("an address", {
  url: text,
  expires_at: time,
});

export type FilePage = ReturnType<typeof filePage>;
export const filePage = recordOf<Schemas["FileList"]>()("a listing", {
  entries: list(fileEntry),
  next_cursor: optionalText,
});

/** Files that match. `truncated`: there may be more, for `truncationReason`. */
export type FileMatches = ReturnType<typeof fileMatches>;
export const fileMatches = recordOf<Schemas["GlobResult"]>()("matching files", {
  matches: list(fileEntry),
  truncated: flag,
  truncation_reason: optionalText,
});

/** A line that holds what was searched for, counted from 1. */
export type FileLine = ReturnType<typeof fileLine>;
const fileLine = recordOf<Schemas["GrepLine"]>()("a matching line", {
  path: wideText,
  line: number,
  text: wideText,
});

export type FileLines = ReturnType<typeof fileLines>;
export const fileLines = recordOf<Schemas["GrepResult"]>()("matching lines", {
  matches: list(fileLine),
  truncated: flag,
  truncation_reason: optionalText,
});

export type WrittenFile = ReturnType<typeof writtenFile>;
export const writtenFile = recordOf<Schemas["WrittenFile"]>()("a written file", {
  path: wideText,
  version: number,
  created: flag,
});

export type AppendedFile = ReturnType<typeof appendedFile>;
export const appendedFile = recordOf<Schemas["FileVersion"]>()("an appended file", {
  path: wideText,
  version: number,
});

export type EditedFile = ReturnType<typeof editedFile>;
export const editedFile = recordOf<Schemas["EditedFile"]>()("an edited file", {
  path: wideText,
  occurrences: number,
  version: number,
});

/** `files`: how many went there; of one file `version` is the new one. */
export type MovedFiles = ReturnType<typeof movedFiles>;
export const movedFiles = recordOf<Schemas["MovedFiles"]>()("a moved file", {
  path: wideText,
  files: number,
  version: optionalNumber,
});

/** What became of one file of an upload: `version`, or `error`. */
export type UploadedFile = ReturnType<typeof uploadedFile>;
export const uploadedFile = recordOf<Schemas["UploadedFile"]>()("an uploaded file", {
  path: wideText,
  error: optionalText,
  version: optionalNumber,
});

/** `unchanged`: the file had these bytes already. */
export type StoredFile = ReturnType<typeof storedFile>;
export const storedFile = recordOf<Schemas["StoredFile"]>()("a stored file", {
  path: text,
  version: number,
  size_bytes: number,
  created: flag,
  unchanged: flag,
});

const downloadedFields = recordOf<Schemas["DownloadedFile"]>()("a downloaded file", {
  path: wideText,
  error: optionalText,
  media_type: optionalText,
  version: optionalNumber,
  sha256: optionalText,
});

/** One file of a download: `bytes`, or `error`. */
export type DownloadedFile = ReturnType<typeof downloadedFields> & { bytes?: Uint8Array };

export function downloadedFile(found: unknown): DownloadedFile {
  const file = downloadedFields(found);
  if (file.error !== undefined) return file;
  const raw = objectOf<Schemas["DownloadedFile"]>(found, "a downloaded file");
  return { ...file, bytes: bytesIn(raw, "bytes") };
}

const windowFields = recordOf<Schemas["FileWindow"]>()("a file's lines", {
  encoding: text,
  created_at: optionalWideText,
  modified_at: optionalWideText,
  media_type: text,
  version: number,
  size: number,
  total_lines: optionalNumber,
  start_line: optionalNumber,
  end_line: optionalNumber,
  next_offset: optionalNumber,
});

/**
 * A file, or the lines of it that were asked for. `content` is text, or bytes of a binary file, which always come whole. Lines are
 * counted from 1, `nextOffset` from 0; without lines there is none of these four.
 */
export type FileWindow = ReturnType<typeof windowFields> & { content: string | Uint8Array };

export function fileWindow(found: unknown): FileWindow {
  const raw = objectOf<Schemas["FileWindow"]>(found, "a file's lines");
  const content = raw.bytes instanceof Uint8Array ? raw.bytes : wideTextIn(raw, "content");
  return { ...windowFields(found), content };
}
