/** What calls about snapshots answer, in the words of JavaScript. Sizes are bytes. */

import { ProtocolError } from "../errors.js";
import { textsIn } from "../wire/answers.js";
import { textOf } from "../wire/packing.js";
import {
  asIs,
  flag,
  list,
  number,
  optionalText,
  optionalTime,
  recordOf,
  text,
  time,
} from "../wire/records.js";
import type { Schemas } from "../wire/schemas.js";

/** A thread in a snapshot. With `history` "head", only the newest state of each of its namespaces. */
export type SnapshotThread = ReturnType<typeof snapshotThread>;
const snapshotThread = recordOf<Schemas["SnapshotThread"]>()("a thread of a snapshot", {
  thread_id: text,
  generation: optionalText,
  history: text,
  checkpoints: number,
  size_bytes: number,
});

/** A namespace in a snapshot, with everything below it. */
export type SnapshotNamespace = ReturnType<typeof snapshotNamespace>;
const snapshotNamespace = recordOf<Schemas["SnapshotNamespace"]>()("a namespace of a snapshot", {
  namespace: texts,
  items: number,
  size_bytes: number,
});

export type SnapshotSession = ReturnType<typeof snapshotSession>;
const snapshotSession = recordOf<Schemas["SnapshotSession"]>()("a session of a snapshot", {
  kind: text,
  key: texts,
  entries: number,
  size_bytes: number,
});

const ARCHIVE = {
  workspace: text,
  size_bytes: number,
  file_count: number,
  sha256: text,
  staged_at: time,
};

/** What a workspace had when it was staged: a tar, of which these are size and digest. */
export type SnapshotArchive = ReturnType<typeof snapshotArchive>;
const snapshotArchive = recordOf<Schemas["SnapshotArchive"]>()(
  "the archive of a snapshot",
  ARCHIVE,
);

/** An archive that waits for a snapshot, for a day. */
export type StagedArchive = ReturnType<typeof stagedArchive>;
export const stagedArchive = recordOf<Schemas["StagedArchive"]>()("a staged archive", {
  archive_id: text,
  ...ARCHIVE,
});

/** Everything in it but its archive is as it was at `takenAt`. `document` is what the caller gave with it. */
export type Snapshot = ReturnType<typeof snapshot>;
export const snapshot = recordOf<Schemas["Snapshot"]>()("a snapshot", {
  snapshot_id: text,
  created_at: time,
  taken_at: time,
  expires_at: optionalTime,
  owner: optionalText,
  labels: asIs<Record<string, string>>(),
  document: (raw, name) => optionalJson(raw[name], name),
  size_bytes: number,
  threads: list(snapshotThread),
  namespaces: list(snapshotNamespace),
  sessions: list(snapshotSession),
  archive: (raw, name) => optionalArchive(raw[name]),
});

export type SnapshotPage = ReturnType<typeof snapshotPage>;
export const snapshotPage = recordOf<Schemas["SnapshotsPage"]>()("a page of snapshots", {
  snapshots: list(snapshot),
  next_cursor: optionalText,
});

/** What became of a thread. Writers that know another `generation` are refused. `created`: there was none of that id. */
export type RestoredThread = ReturnType<typeof restoredThread>;
const restoredThread = recordOf<Schemas["RestoredThread"]>()("a restored thread", {
  thread_id: text,
  into: text,
  created: flag,
  generation: optionalText,
  checkpoints: number,
  replaced_checkpoints: number,
});

/** What became of the items of a namespace and of all below it. */
export type RestoredNamespace = ReturnType<typeof restoredNamespace>;
const restoredNamespace = recordOf<Schemas["RestoredNamespace"]>()("a restored namespace", {
  namespace: texts,
  into: texts,
  written: number,
  unchanged: number,
  removed: number,
});

/** What became of a session. `created`: there was none of that key. */
export type RestoredSession = ReturnType<typeof restoredSession>;
const restoredSession = recordOf<Schemas["RestoredSession"]>()("a restored session", {
  kind: text,
  key: texts,
  into: texts,
  entries: number,
  replaced_entries: number,
  created: flag,
});

/** What a restore did, or with `dryRun` would do. `safetySnapshotId` has what was there before. */
export type Restored = ReturnType<typeof restored>;
export const restored = recordOf<Schemas["RestoredSnapshot"]>()("what was restored", {
  snapshot_id: text,
  dry_run: flag,
  safety_snapshot_id: optionalText,
  restored_at: optionalTime,
  threads: list(restoredThread),
  namespaces: list(restoredNamespace),
  sessions: list(restoredSession),
});

function optionalArchive(found: unknown): SnapshotArchive | undefined {
  return found === undefined || found === null ? undefined : snapshotArchive(found);
}

function texts(raw: Record<string, unknown>, name: string): string[] {
  return textsIn(raw, name);
}

function optionalJson(found: unknown, name: string): unknown {
  if (found === undefined || found === null) return undefined;
  try {
    return JSON.parse(textOf(found as Uint8Array));
  } catch (cause) {
    throw new ProtocolError(`the answer's ${name} is not JSON`, { cause });
  }
}
