/** A quota as texts of a form, and back. */

import type { Quota, Usage } from "threadkeep";
import { sizeText } from "../../parts/units.js";

export type Limit = keyof Quota;

interface LimitField {
  limit: Limit;
  label: string;
  /** Whether units may stand behind the number. */
  isBytes: boolean;
  min: number;
  max: number;
}

const COUNT_MAX = Number.MAX_SAFE_INTEGER;
const RATE_MAX = 1_000_000;
const COUNT = { isBytes: false, min: 0, max: COUNT_MAX };
const RATE = { isBytes: false, min: 1, max: RATE_MAX };

export const LIMIT_FIELDS: readonly LimitField[] = [
  { limit: "bytesMax", label: "Bytes", ...COUNT, isBytes: true },
  { limit: "threadsMax", label: "Threads", ...COUNT },
  { limit: "itemsMax", label: "Items", ...COUNT },
  { limit: "requestsPerSecond", label: "Requests a second, on each server", ...RATE },
  {
    limit: "requestsPerSecondPerToken",
    label: "Requests a second of each key and token",
    ...RATE,
  },
];

/** The text of each field. An empty one is no limit. */
export type QuotaDraft = Record<Limit, string>;

export function draftOf(quota: Quota): QuotaDraft {
  const text = (limit: Limit) => quota[limit]?.toLocaleString("en") ?? "";
  return {
    bytesMax: text("bytesMax"),
    threadsMax: text("threadsMax"),
    itemsMax: text("itemsMax"),
    requestsPerSecond: text("requestsPerSecond"),
    requestsPerSecondPerToken: text("requestsPerSecondPerToken"),
  };
}

const UNITS = new Map([
  ["", 1],
  ["b", 1],
  ["kb", 1e3],
  ["mb", 1e6],
  ["gb", 1e9],
  ["tb", 1e12],
  ["kib", 2 ** 10],
  ["mib", 2 ** 20],
  ["gib", 2 ** 30],
  ["tib", 2 ** 40],
]);

type Read = { value: number | undefined } | { problem: string };

/** Reads the text of a field: a whole number, and for bytes a unit such as GB or GiB. */
export function readLimit({ isBytes, min, max }: LimitField, text: string): Read {
  const plain = text.replace(/[\s,_]/g, "").toLowerCase();
  if (plain === "") return { value: undefined };
  const [, digits = "", unit = ""] = /^(\d+(?:\.\d+)?)([a-z]*)$/.exec(plain) ?? [];
  const factor = (isBytes || unit === "" ? UNITS.get(unit) : undefined) ?? Number.NaN;
  // 2.3 GB is not exact as a product.
  const value = factor > 1 ? Math.round(Number(digits) * factor) : Number(digits) * factor;
  if (digits === "" || !Number.isInteger(value)) {
    return { problem: isBytes ? "A whole number, or one with a unit: 50 GB" : "A whole number" };
  }
  if (value < min || value > max) {
    return { problem: `From ${min} to ${max.toLocaleString("en")}` };
  }
  return { value };
}

/** The quota of the texts; undefined while one of them is no limit. */
export function quotaIn(draft: QuotaDraft): Quota | undefined {
  const quota: Partial<Record<Limit, number | undefined>> = {};
  for (const field of LIMIT_FIELDS) {
    const read = readLimit(field, draft[field.limit]);
    if ("problem" in read) return undefined;
    quota[field.limit] = read.value;
  }
  return quota;
}

const USED = { bytesMax: "bytes", threadsMax: "threads", itemsMax: "items" } as const;

/** Explains a field of the form: its problem, its value in full, or that the tenant has more already. */
export function noteOf(field: LimitField, text: string, usage: Usage | undefined): string {
  const read = readLimit(field, text);
  if ("problem" in read) return read.problem;
  const { value } = read;
  const { limit } = field;
  const isRate = limit === "requestsPerSecond" || limit === "requestsPerSecondPerToken";
  if (value === undefined) return isRate ? "as the server is set up" : "no limit";
  const exact = value.toLocaleString("en");
  const meant = field.isBytes ? `${exact} bytes, ${sizeText(value)}` : exact;
  if (isRate) return meant;
  const used = usage?.[USED[limit]] ?? 0;
  return used > value ? `${meant}. The tenant has more: what adds is refused at once` : meant;
}

export function isSameQuota(one: Quota, other: Quota): boolean {
  return LIMIT_FIELDS.every(({ limit }) => one[limit] === other[limit]);
}
