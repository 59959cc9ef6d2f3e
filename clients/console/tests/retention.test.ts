/** Retention rules: forms and back, sentences, and the dry run that comes before anything is deleted. */

import fc from "fast-check";
import type { Client, RetentionPolicy, RetentionReport } from "threadkeep";
import { expect, it } from "vitest";
import {
  beginDryRun,
  letDelete,
  putBack,
  reportOf,
} from "../src/nouns/threads/retention_queries.js";
import {
  draftOf,
  durationText,
  hasLimit,
  ruleOf,
  sentencesOf,
} from "../src/nouns/threads/retention_rule.js";

const at = (second: number) => new Date(Date.UTC(2026, 0, 31, 12, 0, second));
const POLICY: RetentionPolicy = {
  ...{ keepLast: 20, olderThanSeconds: undefined, expireAfterSeconds: undefined },
  ...{ keepInterrupted: true, dryRun: true, threadId: undefined },
  ...{ createdAt: at(0), updatedAt: at(10), dueAt: at(10) },
};
const REMOVED = { checkpoints: 1, writes: 2, values: 3, sizeBytes: 4, storedBytes: 5 };

function report(changes: Partial<RetentionReport>): RetentionReport {
  return {
    ...{ reportId: "r", startedAt: at(11), finishedAt: at(12), dryRun: true, removed: REMOVED },
    ...{ threadsExamined: 1, threadsExpired: 0, threadsPruned: 1, threadsSkipped: 0, errors: 0 },
    ...{ threadId: undefined, lastError: undefined },
    ...changes,
  };
}

/** A client whose calls are noted, with these answers. */
function clientOf(answers: Record<string, (...given: never[]) => unknown>) {
  const calls: unknown[][] = [];
  const client = new Proxy({} as Client, {
    get:
      (_, name: string) =>
      async (...given: never[]) => {
        calls.push([name, ...given]);
        return answers[name]?.(...given);
      },
  });
  return { client, calls };
}

const limit = fc.option(fc.integer({ min: 1, max: 3_153_600_000 }), { nil: undefined });
const rules = fc.record({
  ...{ keepLast: limit, olderThanSeconds: limit, expireAfterSeconds: limit },
  keepInterrupted: fc.boolean(),
});

it("a rule comes back from its form as it was", () => {
  fc.assert(
    fc.property(rules, (rule) => {
      expect(ruleOf(draftOf(rule))).toEqual(rule);
    }),
  );
  expect(ruleOf(draftOf(undefined))).toEqual({ keepInterrupted: true });
});

it("a field that is no whole number above 0 is named", () => {
  const draft = draftOf(undefined);
  for (const amount of ["0", "-1", "1.5", "1e3", "x", "٣", "12345678901234"]) {
    const older = { ...draft, olderThan: { amount, unit: "days" as const } };
    expect(ruleOf(older), amount).toEqual({ wrong: "Checkpoints stay for" });
    expect(ruleOf({ ...draft, keepLast: amount })).toEqual({
      wrong: "Newest checkpoints that stay",
    });
  }
  expect(ruleOf({ ...draft, keepLast: " 7 " })).toMatchObject({ keepLast: 7 });
});

it("the sentences say what the rule does", () => {
  const rule = { keepInterrupted: true } as const;
  const waiting = "Threads that wait for a person do not expire, and keep what an answer needs.";
  expect(sentencesOf({ ...rule, keepLast: 20, olderThanSeconds: 604_800 })).toEqual([
    "A checkpoint is deleted when it is not among the newest 20 of its namespace and is older than 7 days.",
    waiting,
  ]);
  expect(sentencesOf({ ...rule, olderThanSeconds: 5_400 })).toEqual([
    "A checkpoint is deleted when it is not the newest of its namespace and is older than 90 minutes.",
    waiting,
  ]);
  expect(sentencesOf({ expireAfterSeconds: 86_400, keepInterrupted: false })).toEqual([
    "A thread without a commit for 1 day is deleted with everything in it.",
    "Threads that wait for a person are treated as all others.",
  ]);
  expect(sentencesOf(rule)).toEqual(["It has no limit, so it deletes nothing."]);
  expect([hasLimit(rule), hasLimit({ ...rule, keepLast: 1 })]).toEqual([false, true]);
  expect([1, 60, 61, 7_200, 86_400 * 90].map(durationText)).toEqual([
    ...["1 second", "1 minute", "61 seconds", "2 hours", "90 days"],
  ]);
});

it("a dry run stores the rule so that it deletes nothing, before it is run", async () => {
  const { client, calls } = clientOf({ putRetentionPolicy: () => POLICY });
  expect(await beginDryRun(client, "t", { keepLast: 3, keepInterrupted: false })).toBe(POLICY);
  expect(calls).toEqual([
    ["putRetentionPolicy", { keepLast: 3, keepInterrupted: false, threadId: "t", dryRun: true }],
    ["runRetention", "t"],
  ]);
});

it("a rule that was counted is let to delete, unless somebody has changed it", async () => {
  const same = clientOf({ getRetentionPolicy: () => POLICY });
  expect(await letDelete(same.client, POLICY)).toBe(true);
  expect(same.calls.slice(1)).toEqual([
    ["putRetentionPolicy", expect.objectContaining({ keepLast: 20, dryRun: false })],
    ["runRetention", undefined],
  ]);
  for (const now of [undefined, { ...POLICY, updatedAt: at(11) }]) {
    const other = clientOf({ getRetentionPolicy: () => now });
    expect(await letDelete(other.client, POLICY)).toBe(false);
    expect(other.calls.map(([name]) => name)).toEqual(["getRetentionPolicy"]);
  }
});

it("a rule is put back as it was, also where there was none", async () => {
  const { client, calls } = clientOf({});
  await putBack(client, undefined, { ...POLICY, dryRun: false });
  await putBack(client, "t", null);
  expect(calls).toEqual([
    ["putRetentionPolicy", expect.objectContaining({ keepLast: 20, dryRun: false })],
    ["deleteRetentionPolicy", "t"],
  ]);
});

it("the report of a dry run is that of its own rule, and began after the rule was put", async () => {
  const others = [
    report({ reportId: "of a thread", threadId: "t" }),
    report({ reportId: "deleted", dryRun: false }),
    report({ reportId: "before", startedAt: at(9) }),
  ];
  const wanted = report({ reportId: "wanted" });
  const answering = (...pages: RetentionReport[][]) =>
    clientOf({
      listRetentionReports: ({ cursor = "0" }: { cursor?: string } = {}) => ({
        reports: pages[Number(cursor)],
        nextCursor: Number(cursor) + 1 < pages.length ? String(Number(cursor) + 1) : undefined,
      }),
    });
  expect(await reportOf(answering([...others, wanted]).client, POLICY)).toBe(wanted);
  expect(await reportOf(answering(others, [wanted]).client, POLICY)).toBe(wanted);
  expect(await reportOf(answering(others).client, POLICY)).toBeNull();
  expect(await reportOf(answering([]).client, POLICY)).toBeNull();
  const old = answering([report({ startedAt: at(1), finishedAt: at(2) })], [wanted]);
  expect(await reportOf(old.client, POLICY)).toBeNull();
  expect(old.calls.length).toBe(1);
});
