/** The difference of two JSON values. `applyPatch(diffOf(a, b), a)` is `b`. */

import { isFields } from "./fields.js";

export type ListStep =
  | { kind: "keep"; count: number }
  | { kind: "removed"; before: unknown }
  | { kind: "added"; after: unknown }
  | { kind: "edit"; patch: Patch };

export type FieldStep =
  | { kind: "removed"; before: unknown }
  | { kind: "added"; after: unknown }
  | { kind: "edit"; patch: Patch };

export type Patch =
  | { kind: "same" }
  | { kind: "set"; before: unknown; after: unknown }
  | { kind: "object"; fields: [name: string, step: FieldStep][] }
  | { kind: "list"; steps: ListStep[] };

export function diffOf(before: unknown, after: unknown): Patch {
  if (isEqual(before, after)) return { kind: "same" };
  if (Array.isArray(before) && Array.isArray(after)) {
    return { kind: "list", steps: listSteps(before, after) };
  }
  if (isFields(before) && isFields(after)) return objectPatch(before, after);
  return { kind: "set", before, after };
}

function objectPatch(before: Record<string, unknown>, after: Record<string, unknown>): Patch {
  const fields: [string, FieldStep][] = [];
  for (const name of Object.keys(before)) {
    if (!Object.hasOwn(after, name)) fields.push([name, { kind: "removed", before: before[name] }]);
    else if (!isEqual(before[name], after[name])) {
      fields.push([name, { kind: "edit", patch: diffOf(before[name], after[name]) }]);
    }
  }
  for (const name of Object.keys(after)) {
    if (!Object.hasOwn(before, name)) fields.push([name, { kind: "added", after: after[name] }]);
  }
  return { kind: "object", fields };
}

/** Aligned by the ids of the entries where each has its own, as messages do; else by their places. */
function listSteps(before: readonly unknown[], after: readonly unknown[]): ListStep[] {
  const [oldIds, newIds] = [idsOf(before), idsOf(after)];
  const pairs = oldIds && newIds ? pairsByIds(oldIds, newIds) : pairsByPlace(before, after);
  const steps: ListStep[] = [];
  let [old, fresh] = [0, 0];
  for (const [i, j] of [...pairs, [before.length, after.length] as const]) {
    for (; old < i; old += 1) steps.push({ kind: "removed", before: before[old] });
    for (; fresh < j; fresh += 1) steps.push({ kind: "added", after: after[fresh] });
    if (i >= before.length) break;
    const patch = diffOf(before[i], after[j]);
    const last = steps.at(-1);
    if (patch.kind !== "same") steps.push({ kind: "edit", patch });
    else if (last?.kind === "keep") last.count += 1;
    else steps.push({ kind: "keep", count: 1 });
    [old, fresh] = [i + 1, j + 1];
  }
  return steps;
}

function idsOf(list: readonly unknown[]): string[] | undefined {
  const ids = list.map((entry) => (isFields(entry) ? entry["id"] : undefined));
  const isComplete = ids.every((id): id is string => typeof id === "string");
  return isComplete && new Set(ids).size === ids.length ? ids : undefined;
}

type Pair = readonly [old: number, fresh: number];

/** The most entries that are in both lists in the same order: the longest rising row of their new places. */
function pairsByIds(before: readonly string[], after: readonly string[]): Pair[] {
  const places = new Map(after.map((id, at) => [id, at]));
  const common = before.flatMap((id, old): Pair[] => {
    const fresh = places.get(id);
    return fresh === undefined ? [] : [[old, fresh]];
  });
  const ends: number[] = [];
  const previous: number[] = [];
  common.forEach(([, fresh], at) => {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const end = common[ends[middle] ?? 0];
      if (end && end[1] < fresh) low = middle + 1;
      else high = middle;
    }
    previous[at] = low > 0 ? (ends[low - 1] ?? -1) : -1;
    ends[low] = at;
  });
  const row: Pair[] = [];
  for (let at = ends.at(-1) ?? -1; at >= 0; at = previous[at] ?? -1) {
    const pair = common[at];
    if (pair) row.push(pair);
  }
  return row.reverse();
}

/** Equal beginnings and ends; what is between them, place by place. */
function pairsByPlace(before: readonly unknown[], after: readonly unknown[]): Pair[] {
  const shorter = Math.min(before.length, after.length);
  let begin = 0;
  while (begin < shorter && isEqual(before[begin], after[begin])) begin += 1;
  let end = 0;
  while (end < shorter - begin && isEqual(before.at(-1 - end), after.at(-1 - end))) end += 1;
  const first = Array.from({ length: shorter - end }, (_, at): Pair => [at, at]);
  const last = Array.from(
    { length: end },
    (_, at): Pair => [before.length - end + at, after.length - end + at],
  );
  return [...first, ...last];
}

export function applyPatch(patch: Patch, value: unknown): unknown {
  switch (patch.kind) {
    case "same":
      return value;
    case "set":
      return patch.after;
    case "object":
      return applyFields(patch.fields, value as Record<string, unknown>);
    case "list":
      return applySteps(patch.steps, value as unknown[]);
  }
}

function applyFields(fields: [string, FieldStep][], value: Record<string, unknown>): unknown {
  const entries = new Map(Object.entries(value));
  for (const [name, step] of fields) {
    if (step.kind === "removed") entries.delete(name);
    else
      entries.set(name, step.kind === "added" ? step.after : applyPatch(step.patch, value[name]));
  }
  return Object.fromEntries(entries);
}

function applySteps(steps: readonly ListStep[], value: readonly unknown[]): unknown[] {
  const made: unknown[] = [];
  let at = 0;
  for (const step of steps) {
    if (step.kind === "added") made.push(step.after);
    else if (step.kind === "keep") {
      made.push(...value.slice(at, at + step.count));
      at += step.count;
    } else {
      if (step.kind === "edit") made.push(applyPatch(step.patch, value[at]));
      at += 1;
    }
  }
  return made;
}

export function isEqual(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((one, at) => isEqual(one, b[at]));
  }
  if (a instanceof Uint8Array) {
    return (
      b instanceof Uint8Array && a.length === b.length && a.every((byte, at) => byte === b[at])
    );
  }
  if (!isFields(a) || !isFields(b)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isEqual(a[name], b[name]))
  );
}
