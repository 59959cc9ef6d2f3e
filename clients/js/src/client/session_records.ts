/** Turns the answers of the calls about sessions into records with JavaScript's names. Times are dates; `…Ms` are whole milliseconds since 1970. */

import { ProtocolError } from "../errors.js";
import { bytesIn, numberIn, optionalTextIn, textsIn } from "../wire/answers.js";
import { textOf } from "../wire/packing.js";
import {
  flag,
  list,
  number,
  optionalNumber,
  optionalText,
  recordOf,
  text,
  time,
} from "../wire/records.js";
import type { Schemas } from "../wire/schemas.js";

/** Which session: a kind of your own (`[a-z0-9_-]`, at most 64) and 1 to 8 texts of any characters. */
export interface SessionAddress {
  kind: string;
  key: readonly string[];
}

/** One entry of a stream as it is appended. One with the `id` of an entry that the stream has is left out. */
export interface NewSessionEntry {
  id?: string | undefined;
  /** Anything that JSON has a form for. */
  data: unknown;
}

/** One entry as it is read. `seq` grows in commit order: whoever sees one has seen, or sees with it, all before it. */
export interface SessionEntry {
  seq: number;
  id?: string;
  data: unknown;
  atMs: number;
}

export type CreatedSession = ReturnType<typeof createdSession>;
export const createdSession = recordOf<Schemas["CreatedSession"]>()("a session", {
  created: flag,
  user: optionalText,
  agent: optionalText,
  title: optionalText,
  created_at: time,
  updated_at: time,
});

/** `head` is the sequence number of the stream's last entry; `firstSeq` and `lastSeq` are absent where nothing was new. */
export type Appended = ReturnType<typeof appended>;
export const appended = recordOf<Schemas["Appended"]>()("what was appended", {
  head: number,
  appended: number,
  first_seq: optionalNumber,
  last_seq: optionalNumber,
  document_version: optionalNumber,
});

/** `more`: read on with `afterSeq` of the last entry. */
export type SessionPage = ReturnType<typeof sessionPage>;
export const sessionPage = recordOf<Schemas["Entries"]>()("a page of entries", {
  entries: list(entry),
  head: number,
  more: flag,
});

export type SessionStream = ReturnType<typeof stream>;
const stream = recordOf<Schemas["Stream"]>()("a stream", {
  stream: text,
  head: number,
  updated_at_ms: number,
});
export const streams = recordOf<Schemas["Streams"]>()("streams", {
  streams: list(stream),
});

export type Session = ReturnType<typeof session>;
const session = recordOf<Schemas["Session"]>()("a session", {
  key: (raw, name) => textsIn(raw, name),
  user: optionalText,
  agent: optionalText,
  title: optionalText,
  created_at_ms: number,
  updated_at_ms: number,
});

export type SessionList = ReturnType<typeof sessionList>;
export const sessionList = recordOf<Schemas["SessionsPage"]>()("a page of sessions", {
  sessions: list(session),
  next_cursor: optionalText,
});

/** A kind of sessions. `sessions` stops at 10,000: `partial` says that it has. `updatedAtMs` is the newest change of those that were counted. */
export type SessionKind = ReturnType<typeof sessionKind>;
const sessionKind = recordOf<Schemas["SessionKind"]>()("a kind of sessions", {
  kind: text,
  sessions: number,
  updated_at_ms: number,
  partial: flag,
});

export type SessionKindPage = ReturnType<typeof sessionKindPage>;
export const sessionKindPage = recordOf<Schemas["SessionKinds"]>()("a page of kinds", {
  kinds: list(sessionKind),
  next_cursor: optionalText,
});

/** `size` is in bytes of UTF-8. */
export type StoredDocument = ReturnType<typeof storedDocument>;
export const storedDocument = recordOf<Schemas["StoredDocument"]>()("a document", {
  version: number,
  updated_at_ms: number,
  size: number,
});

export type SessionDocument = ReturnType<typeof sessionDocument>;
export const sessionDocument = recordOf<Schemas["Document"]>()("a document", {
  content,
  version: number,
  updated_at_ms: number,
  size: number,
});

export type NamedDocument = ReturnType<typeof namedDocument>;
const namedDocument = recordOf<Schemas["ListedDocument"]>()("a document", {
  name: text,
  version: number,
  updated_at_ms: number,
  size: number,
});
export const namedDocuments = recordOf<Schemas["Documents"]>()("documents", {
  documents: list(namedDocument),
});

export type FoundDocument = ReturnType<typeof foundDocument>;
const foundDocument = recordOf<Schemas["FoundDocument"]>()("a document", {
  key: (raw, name) => textsIn(raw, name),
  content,
  version: number,
  updated_at_ms: number,
});
export const foundDocuments = recordOf<Schemas["FoundDocuments"]>()("documents", {
  documents: list(foundDocument),
});

export const counted = recordOf<Schemas["Counted"]>()("a counter", { value: number });

export type Compacted = ReturnType<typeof compacted>;
export const compacted = recordOf<Schemas["Compacted"]>()("a compaction", {
  archive_id: text,
  head: number,
});

function entry(found: unknown): SessionEntry {
  const raw = found as Schemas["Entry"];
  const id = optionalTextIn(raw, "id");
  return {
    seq: numberIn(raw, "seq"),
    ...(id === undefined ? {} : { id }),
    data: dataOf(bytesIn(raw, "data")),
    atMs: numberIn(raw, "at_ms"),
  };
}

/** A text; one without UTF-8 comes as its JSON. */
function content(raw: Record<string, unknown>, name: string): string {
  const found = raw[name];
  const text = found instanceof Uint8Array ? dataOf(found) : found;
  if (typeof text === "string") return text;
  throw new ProtocolError(`the answer lacks ${name}, or has something else there`);
}

function dataOf(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(textOf(bytes));
  } catch (cause) {
    throw new ProtocolError("the answer's data is not JSON", { cause });
  }
}
