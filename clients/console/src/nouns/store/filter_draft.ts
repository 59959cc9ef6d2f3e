/** A filter as conditions that a person chooses, and its JSON. The JSON of a value stays as it was typed: `1.0`, and every digit. */

import { isFields } from "../../content/fields.js";

export const OPERATORS = [
  ["$eq", "is"],
  ["$ne", "is another value than"],
  ["$gt", "is greater than"],
  ["$gte", "is at least"],
  ["$lt", "is less than"],
  ["$lte", "is at most"],
  ["$in", "is one of the list"],
  ["$nin", "is none of the list"],
  ["$exists", "is there"],
] as const;
export type Operator = (typeof OPERATORS)[number][0];

export interface Condition {
  /** A field, or a path with dots. */
  path: string;
  operator: Operator;
  /** JSON. */
  value: string;
}

export interface FilterDraft {
  /** Whether all conditions must hold, or one. */
  join: "$and" | "$or";
  conditions: readonly Condition[];
}

export const NEW_CONDITION: Condition = { path: "", operator: "$eq", value: "" };

/** Why the server would refuse it; undefined where nothing is known. */
export function problemOf({ conditions }: FilterDraft): string | undefined {
  for (const { path, operator, value } of conditions) {
    if (path === "") return "Name a field.";
    if (path.startsWith("$")) return "A field does not begin with $.";
    const problem = problemOfValue(operator, value);
    if (problem !== undefined) return problem;
  }
  return conditions.length === 0 ? "Add a condition." : undefined;
}

function problemOfValue(operator: Operator, text: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'A value is JSON: 5, true, "a text".';
  }
  switch (operator) {
    case "$in":
    case "$nin":
      return Array.isArray(value) ? undefined : 'The value is a list: ["a", "b"].';
    case "$exists":
      return typeof value === "boolean" ? undefined : "The value is true or false.";
    case "$gt":
    case "$gte":
    case "$lt":
    case "$lte":
      return typeof value === "number" || typeof value === "string"
        ? undefined
        : "Order is for numbers and texts.";
    default:
      return undefined;
  }
}

/** Returns the JSON of the filter of a draft without a problem. */
export function filterText({ join, conditions }: FilterDraft): string {
  const texts = conditions.map(({ path, operator, value }) => {
    return `{${JSON.stringify(path)}: {"${operator}": ${value.trim()}}}`;
  });
  return texts.length === 1 ? (texts[0] ?? "{}") : `{"${join}": [${texts.join(", ")}]}`;
}

/** Reads a filter that has the form of `filterText`, or fields with one value each; undefined for any other. */
export function draftOf(text: string): FilterDraft | undefined {
  if (text.trim() === "") return { join: "$and", conditions: [NEW_CONDITION] };
  let filter: unknown;
  try {
    filter = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isFields(filter)) return undefined;
  const [[name, list] = ["", undefined], ...others] = Object.entries(filter);
  if ((name === "$and" || name === "$or") && Array.isArray(list) && others.length === 0) {
    const found = list.map(conditionOf);
    return found.every((one) => one !== undefined) ? { join: name, conditions: found } : undefined;
  }
  const found = Object.entries(filter).map(([path, value]) => conditionOf({ [path]: value }));
  if (found.length === 0 || !found.every((one) => one !== undefined)) return undefined;
  return { join: "$and", conditions: found };
}

function conditionOf(found: unknown): Condition | undefined {
  if (!isFields(found)) return undefined;
  const [entry, ...others] = Object.entries(found);
  if (entry === undefined || others.length > 0) return undefined;
  const [path, value] = entry;
  if (path.startsWith("$") || !isExact(value)) return undefined;
  if (!isFields(value)) return { path, operator: "$eq", value: JSON.stringify(value) };
  const [asked, ...more] = Object.entries(value);
  const operator = OPERATORS.find(([one]) => one === asked?.[0])?.[0];
  // An object without operators must have these fields, which is another condition than to be it.
  if (asked === undefined || operator === undefined || more.length > 0) return undefined;
  return { path, operator, value: JSON.stringify(asked[1]) };
}

/** Whether a parsed value is the one that was typed. Floats and long numbers may have lost digits. */
function isExact(value: unknown): boolean {
  if (typeof value === "number") return Number.isSafeInteger(value);
  if (Array.isArray(value)) return value.every(isExact);
  return isFields(value) ? Object.values(value).every(isExact) : true;
}
