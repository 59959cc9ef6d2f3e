/** A tenant, or parts of it, as one file: what travels, and what the server answers. `Client` has the calls. */

import { ImportConflictError, InvalidError } from "../errors.js";
import type { CallOptions } from "../http/deadline.js";
import { flag, nested, number, recordOf } from "../wire/records.js";
import type { Body, Schemas } from "../wire/schemas.js";
import type { SessionAddress } from "./session_records.js";
import { addressOf, textsOf } from "./snapshots.js";

export const EXPORT = "/v1/export";
export const IMPORT = "/v1/import";
export const MEDIA_TYPE = "application/vnd.threadkeep.export";

/** What goes into the file. Without any part, everything of the tenant. */
export interface ExportOptions extends CallOptions {
  /** Whole. */
  threads?: readonly string[] | undefined;
  sessions?: readonly SessionAddress[] | undefined;
  /** Each with everything below it. */
  namespaces?: readonly (readonly string[])[] | undefined;
  /** With what they keep. */
  snapshots?: readonly string[] | undefined;
}

export interface ImportOptions extends CallOptions {
  /** Replace what is there with other contents. Default: that ends the import with ImportConflictError. */
  overwrite?: boolean | undefined;
  /** Check all of the file and say what would happen; change nothing. */
  dryRun?: boolean | undefined;
  /**
   * Send the file twice, first as a dry run, so that nothing comes of one that is damaged, cut off or in conflict. Default: true for bytes and
   * a Blob; a stream can be sent once only.
   */
  checkFirst?: boolean | undefined;
}

/**
 * What became of the nouns of one kind: `created` were not there, `unchanged` were there as in the file, `replaced` with other contents.
 * `conflicts` are of a dry run only: they are there with other contents, and would end the import.
 */
export type ImportTally = ReturnType<typeof importTally>;
const importTally = recordOf<Schemas["ImportTally"]>()("what became of a kind", {
  created: number,
  unchanged: number,
  replaced: number,
  conflicts: number,
});

/** What an import did, or with `dryRun` would do. `isSigned`: the file says so; over HTTP nobody looks at its signatures. */
export type Imported = ReturnType<typeof imported>;
export const imported = recordOf<Schemas["Imported"]>()("what was imported", {
  dry_run: flag,
  is_signed: flag,
  threads: nested(importTally),
  sessions: nested(importTally),
  items: nested(importTally),
  settings: nested(importTally),
  policies: nested(importTally),
  snapshots: nested(importTally),
});

/** Without any part the server takes everything, so that is refused where parts were asked for. */
export function exportBody(options: ExportOptions): Body<typeof EXPORT> {
  const { threads, sessions, namespaces, snapshots } = options;
  const parts = {
    threads: threads && textsOf(threads, "threads"),
    sessions: sessions?.map(addressOf),
    namespaces: namespaces?.map((one) => textsOf(one, "namespaces")),
    snapshots: snapshots && textsOf(snapshots, "snapshots"),
  };
  const given = Object.entries(parts).filter(([, part]) => part !== undefined);
  if (given.length > 0 && given.every(([, part]) => part?.length === 0)) {
    const detail = "no part is named: leave the options out to export everything";
    throw new InvalidError(detail, { field: given[0]?.[0] });
  }
  return parts;
}

/** Whether to send it as a dry run first. */
export function checksFirst(file: ReturnType<typeof fileOf>, options: ImportOptions): boolean {
  const canBeSentTwice = !(file instanceof ReadableStream);
  if (options.checkFirst && !canBeSentTwice) {
    const detail = "a stream is sent once only: give bytes or a Blob, or check it with dryRun";
    throw new InvalidError(detail, { field: "checkFirst" });
  }
  return !options.dryRun && (options.checkFirst ?? canBeSentTwice);
}

export function requireNoConflict({ dryRun: _, isSigned: __, ...tallies }: Imported): void {
  const found = Object.entries(tallies).filter(([, { conflicts }]) => conflicts > 0);
  if (found.length === 0) return;
  const named = found.map(([kind, { conflicts }]) => `${kind} ${conflicts}`).join(", ");
  const detail = `there with other contents than in the file: ${named}; nothing was imported`;
  throw new ImportConflictError(detail);
}

/** Only what is asked for. */
export function importQuery({ overwrite, dryRun }: ImportOptions): [string, string][] {
  const flags = { overwrite, dry_run: dryRun };
  return Object.entries(flags).flatMap(([name, isSet]) => (isSet ? [[name, "true"]] : []));
}

/** What can be sent; a stream once only. */
export function fileOf(
  file: Uint8Array | Blob | ReadableStream<Uint8Array>,
): Uint8Array | Blob | ReadableStream<Uint8Array> {
  if (file instanceof Uint8Array || file instanceof Blob) return file;
  if (!(file instanceof ReadableStream)) {
    const detail = "file must be a Uint8Array, a Blob or a ReadableStream";
    throw new InvalidError(detail, { field: "file" });
  }
  if (file.locked) throw new InvalidError("file is being read by another", { field: "file" });
  return file;
}
