/** Reads the answers of the store calls as records. LangGraph's store makes its items of the same records. */

import { ProtocolError } from "../errors.js";
import {
  bytesIn,
  exactTextIn,
  listIn,
  objectOf,
  optionalTextIn,
  textsIn,
} from "../wire/answers.js";
import { documentOf, type Integers } from "../wire/document_value.js";
import {
  flag,
  list,
  nested,
  number,
  optionalFlag,
  optionalNested,
  optionalNumber,
  optionalTexts,
  optionalTime,
  recordOf,
  texts,
  time,
  wideText,
} from "../wire/records.js";
import type { Schemas } from "../wire/schemas.js";

/** The value of an item: an object of JSON. Bytes are `Uint8Array`s, and whole numbers that no `number` holds are bigints. */
export type ItemValue = Record<string, unknown>;

const itemFields = recordOf<Schemas["Item"]>()("an item", {
  namespace: texts,
  key: wideText,
  version: number,
  created_at: time,
  updated_at: time,
  size_bytes: number,
  expires_at: optionalTime,
  ttl_minutes: optionalNumber,
  score: optionalNumber,
});

/**
 * An item. `value` is absent where no values were asked for. `sizeBytes` is that of the value's JSON text. `score` tells how near it is to
 * what was searched for, higher is nearer. Without `expiresAt` it never expires.
 */
export type Item = ReturnType<typeof itemFields> & { value?: ItemValue };

export function item(found: unknown, integers: Integers): Item {
  return { ...itemFields(found), ...valueIn(found, integers) };
}

/** An item with its value as the JSON text that the server keeps. */
export type ItemText = ReturnType<typeof itemFields> & { text: string };

export function itemText(found: unknown): ItemText {
  return { ...itemFields(found), text: exactTextIn(found as Schemas["Item"], "value") };
}

/** A page of a search. `omitted`: files below the prefix that are too large for a value, on the first page of a listing. */
export interface ItemPage {
  items: Item[];
  nextCursor?: string;
  omitted?: number;
}

export function itemPage(found: unknown, integers: Integers): ItemPage {
  const raw = objectOf<Schemas["ItemPage"]>(found, "a page of items");
  const items = listIn(raw, "items").map((one) => item(one, integers));
  return { items, ...nextCursorIn(raw), ...(raw.omitted ? { omitted: raw.omitted } : {}) };
}

const versionFields = recordOf<Schemas["ItemVersionOf"]>()("a version of an item", {
  version: number,
  current: flag,
  updated_at: time,
  size_bytes: number,
  ttl_minutes: optionalNumber,
});

/** A version of an item: the present one (`current`), or an earlier one. `updatedAt` is when it was put. */
export type ItemVersion = ReturnType<typeof versionFields> & { value?: ItemValue };

export function itemVersion(found: unknown, integers: Integers): ItemVersion {
  return { ...versionFields(found), ...valueIn(found, integers) };
}

/** Versions of an item, the present one first. */
export interface ItemVersionPage {
  versions: ItemVersion[];
  nextCursor?: string;
}

export function itemVersionPage(found: unknown, integers: Integers): ItemVersionPage {
  const raw = objectOf<Schemas["ItemVersions"]>(found, "a page of versions");
  const versions = listIn(raw, "versions").map((one) => itemVersion(one, integers));
  return { versions, ...nextCursorIn(raw) };
}

/**
 * The setting that a namespace declares for its items and those below. `textFields` are paths of the fields whose words are indexed, `history` is how
 * many earlier versions an item keeps. `indexing`: items from before are still being indexed.
 */
export type NamespaceSetting = ReturnType<typeof namespaceSetting>;
export const namespaceSetting = recordOf<Schemas["NamespaceSetting"]>()("a setting", {
  namespace: texts,
  changed_at: time,
  text_fields: optionalTexts,
  history: optionalNumber,
  indexing: optionalFlag,
});

/** `setting` is the namespace's own, `effective` applies to its items and takes shorter prefixes into account. */
export type GotNamespaceSetting = ReturnType<typeof gotNamespaceSetting>;
export const gotNamespaceSetting = recordOf<Schemas["GotNamespaceSetting"]>()("a setting", {
  effective: nested(
    recordOf<Schemas["EffectiveNamespaceSetting"]>()("what holds for a namespace", {
      text_fields: optionalTexts,
      history: optionalNumber,
    }),
  ),
  setting: optionalNested(namespaceSetting),
});

export const namespaceSettings = recordOf<Schemas["NamespaceSettings"]>()("settings", {
  settings: list(namespaceSetting),
});

export const namespaceSettingPut = recordOf<Schemas["NamespaceSettingPut"]>()("a setting", {
  setting: nested(namespaceSetting),
});

/**
 * Namespaces in the order of their labels. `counts`: of each one the items in it and below it that the caller may read. A count of 10,000
 * means so many or more.
 */
export interface NamespacePage {
  namespaces: string[][];
  counts?: number[];
  nextCursor?: string;
}

export function namespacePage(found: unknown): NamespacePage {
  const raw = objectOf<Schemas["Namespaces"]>(found, "a page of namespaces");
  const namespaces = namespacesIn(raw);
  return { namespaces, ...countsIn(raw, namespaces.length), ...nextCursorIn(raw) };
}

/** A namespace with what is in it, not below it. `sizeBytes` is that of its items' values as JSON text. */
export type LargeNamespace = ReturnType<typeof largeNamespace>;
const largeNamespace = recordOf<Schemas["LargeNamespace"]>()("a namespace", {
  namespace: texts,
  items: number,
  size_bytes: number,
  updated_at: optionalTime,
});

export const largestNamespaces = recordOf<Schemas["LargestNamespaces"]>()(
  "the largest namespaces",
  {
    namespaces: list(largeNamespace),
  },
);

/** As many counts as there are namespaces. */
function countsIn(raw: Schemas["Namespaces"], length: number): { counts?: number[] } {
  const counts: unknown = raw.counts;
  if (counts === undefined || counts === null) return {};
  const isCounts =
    Array.isArray(counts) && counts.length === length && counts.every(Number.isInteger);
  if (!isCounts) throw new ProtocolError("the answer lacks counts, or has something else there");
  return { counts };
}

/** The namespaces of an answer. */
export function namespacesIn(answer: object): string[][] {
  const { namespaces } = answer as { namespaces?: unknown };
  if (!Array.isArray(namespaces)) throw new ProtocolError("the answer lacks namespaces");
  return namespaces.map((labels) => textsIn({ namespaces: labels }, "namespaces"));
}

function valueIn(found: unknown, integers: Integers): { value?: ItemValue } {
  const raw = found as Schemas["Item"];
  const hasValue = raw.value !== undefined && raw.value !== null;
  return hasValue ? { value: documentOf(bytesIn(raw, "value"), integers) } : {};
}

function nextCursorIn(raw: { next_cursor?: string | null }): { nextCursor?: string } {
  const nextCursor = optionalTextIn(raw, "next_cursor");
  return nextCursor === undefined ? {} : { nextCursor };
}
