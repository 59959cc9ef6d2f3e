/** A retention rule: its fields as a form has them, and the sentences that say what it does. */

import type { RetentionPolicy } from "threadkeep";
import { counted } from "../../content/json_tree.js";

export type Rule = Pick<
  RetentionPolicy,
  "keepLast" | "olderThanSeconds" | "expireAfterSeconds" | "keepInterrupted"
>;

const SECONDS = { id: "seconds", one: "second", seconds: 1 } as const;
export const UNITS = [
  { id: "days", one: "day", seconds: 86_400 },
  { id: "hours", one: "hour", seconds: 3_600 },
  { id: "minutes", one: "minute", seconds: 60 },
  SECONDS,
] as const;

export type Unit = (typeof UNITS)[number]["id"];

/** A time as it is typed: an empty amount is no limit. */
export interface Age {
  amount: string;
  unit: Unit;
}

export interface RuleDraft {
  keepLast: string;
  olderThan: Age;
  expireAfter: Age;
  keepInterrupted: boolean;
}

/** Returns the fields of a rule; without one, those of a form that is opened for the first time. */
export function draftOf(rule: Rule | undefined): RuleDraft {
  return {
    keepLast: rule?.keepLast?.toString() ?? "",
    olderThan: ageOf(rule?.olderThanSeconds),
    expireAfter: ageOf(rule?.expireAfterSeconds),
    keepInterrupted: rule?.keepInterrupted ?? true,
  };
}

function ageOf(seconds: number | undefined): Age {
  if (seconds === undefined) return { amount: "", unit: "days" };
  const { id, seconds: size } = unitOf(seconds);
  return { amount: String(seconds / size), unit: id };
}

/** Returns the rule of a form, or the name of the first field that is no whole number above 0. */
export function ruleOf(draft: RuleDraft): Rule | { wrong: string } {
  const { keepLast, olderThan, expireAfter, keepInterrupted } = draft;
  const last = wholeOf(keepLast);
  if (last === "wrong") return { wrong: "Newest checkpoints that stay" };
  const older = secondsOf(olderThan);
  if (older === "wrong") return { wrong: "Checkpoints stay for" };
  const expire = secondsOf(expireAfter);
  if (expire === "wrong") return { wrong: "Threads are deleted without a commit for" };
  return { keepLast: last, olderThanSeconds: older, expireAfterSeconds: expire, keepInterrupted };
}

/** Whether it ever deletes anything. The server refuses one without any limit for a tenant; it exempts a thread. */
export function hasLimit({ keepLast, olderThanSeconds, expireAfterSeconds }: Rule): boolean {
  return [keepLast, olderThanSeconds, expireAfterSeconds].some((limit) => limit !== undefined);
}

function secondsOf({ amount, unit }: Age): number | undefined | "wrong" {
  const count = wholeOf(amount);
  if (typeof count !== "number") return count;
  const size = UNITS.find(({ id }) => id === unit)?.seconds ?? 1;
  return count * size;
}

function wholeOf(text: string): number | undefined | "wrong" {
  const typed = text.trim();
  if (typed === "") return undefined;
  return /^[1-9]\d{0,12}$/.test(typed) ? Number(typed) : "wrong";
}

/** Returns what a rule does to checkpoints and threads, in sentences. */
export function sentencesOf(rule: Rule): string[] {
  const { keepLast, olderThanSeconds: older, expireAfterSeconds: expire } = rule;
  const said: string[] = [];
  if (!hasLimit(rule)) return ["It has no limit, so it deletes nothing."];
  if (keepLast !== undefined || older !== undefined) {
    const last = keepLast ?? 1;
    const newest = last === 1 ? "the newest" : `among the newest ${last.toLocaleString("en")}`;
    const age = older === undefined ? "" : ` and is older than ${durationText(older)}`;
    said.push(`A checkpoint is deleted when it is not ${newest} of its namespace${age}.`);
  }
  if (expire !== undefined) {
    said.push(
      `A thread without a commit for ${durationText(expire)} is deleted with everything in it.`,
    );
  }
  said.push(
    rule.keepInterrupted
      ? "Threads that wait for a person do not expire, and keep what an answer needs."
      : "Threads that wait for a person are treated as all others.",
  );
  return said;
}

/** Returns a time in the largest unit that divides it. */
export function durationText(seconds: number): string {
  const { id, one, seconds: size } = unitOf(seconds);
  return counted(seconds / size, one, id);
}

function unitOf(seconds: number) {
  return UNITS.find(({ seconds: size }) => seconds % size === 0) ?? SECONDS;
}
