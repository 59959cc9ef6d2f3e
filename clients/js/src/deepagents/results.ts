/** Answers and failures as deepagents wants them: failures are texts that a model reads, never exceptions. */

import type { FileData, FileInfo, FileOperationError, ReadResult } from "deepagents";
import type { FileEntry, FileWindow } from "../client/file_records.js";
import { NotGrantedError, ThreadkeepError, UnauthorizedError } from "../errors.js";

/** The server's texts for these are those of deepagents. */
const OF_FILES = new Set([
  "file_not_found",
  "invalid_path",
  "offset_past_end",
  "not_text",
  "old_string_empty",
  "string_not_found",
  "string_not_unique",
  "invalid_glob",
  "not_a_file",
]);

/** What went wrong. `frame` is put around what is no text of deepagents. */
export function errorText(error: unknown, frame = (text: string) => text): string {
  const isOfFiles = error instanceof ThreadkeepError && OF_FILES.has(error.code);
  return isOfFiles ? error.detail : frame(plainText(error));
}

/** Of a tool that shows an error as it is. */
export function asError(text: string): string {
  return `Error: ${text}`;
}

/**
 * Why a whole transfer failed, for each of its files. The types of deepagents name four codes; its programs tell `file_not_found` from
 * everything else, and a server that could not be reached must not look like that.
 */
export function transferError(error: unknown): FileOperationError {
  const isRefused = error instanceof NotGrantedError || error instanceof UnauthorizedError;
  return isRefused ? "permission_denied" : entryError(plainText(error));
}

/** A code of deepagents, or another text in its place. */
export function entryError(text: string): FileOperationError {
  return text as FileOperationError;
}

export function infoOf({ path, isDir, size, modifiedAt }: FileEntry): FileInfo {
  return { path, is_dir: isDir, size, modified_at: modifiedAt };
}

export function dataOf(found: FileWindow): FileData {
  const { content, mediaType: mimeType, createdAt = "", modifiedAt = "" } = found;
  return { content, mimeType, created_at: createdAt, modified_at: modifiedAt };
}

/** What `read` answers. A tool shows bytes by their media type, and would show none of a text. */
export function windowOf(found: FileWindow, filePath: string): ReadResult {
  const { content, mediaType: mimeType, totalLines, startLine, endLine, nextOffset } = found;
  if (typeof content !== "string") {
    return isTextType(mimeType)
      ? { error: `File '${filePath}' has binary content but text MIME type` }
      : { content, mimeType };
  }
  const lines = { totalLines, startLine, endLine, nextOffset };
  const given = Object.entries(lines).filter(([, value]) => value !== undefined);
  return { content, mimeType, ...Object.fromEntries(given) };
}

function isTextType(mediaType: string): boolean {
  return /^(text\/.*|application\/(json|javascript)|image\/svg\+xml)$/.test(mediaType);
}

function plainText(error: unknown): string {
  if (error instanceof ThreadkeepError) return error.detail;
  return error instanceof Error ? error.message : String(error);
}
