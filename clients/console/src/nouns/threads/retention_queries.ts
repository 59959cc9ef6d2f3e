/** Retention: the rule of the tenant or of a thread, its reports, and the dry run before a rule deletes. */

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { Client, RetentionPolicy, RetentionReport } from "threadkeep";
import type { Need, Thing } from "../../api/capabilities.js";
import { useApi } from "../../api/context.js";
import { LIST_MS, listInterval } from "../../app/live.js";
import type { Rule } from "./retention_rule.js";

const PAGE_RULES = 100;
export const PAGE_REPORTS = 100;
/** As many pages are looked through for one report. */
const PAGES_MAX = 20;

/** The owner of a rule: a thread, or without one the tenant. */
export interface RuleOwner {
  threadId: string | undefined;
  thing: Thing;
}

export function useRule(threadId: string | undefined) {
  const { client } = useApi();
  return useQuery({
    queryKey: ["retention", "rule", threadId ?? null],
    queryFn: async () => (await client.getRetentionPolicy(threadId)) ?? null,
    refetchInterval: LIST_MS,
  });
}

/** The rules of the tenant and of its threads. */
export function useRules() {
  const { client } = useApi();
  return useInfiniteQuery({
    queryKey: ["retention", "rules"],
    queryFn: ({ pageParam: cursor, signal }) =>
      client.listRetentionPolicies({ limit: PAGE_RULES, cursor, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    refetchInterval: listInterval,
  });
}

export function useReports(threadId: string | undefined) {
  const { client } = useApi();
  return useInfiniteQuery({
    queryKey: ["retention", "reports", threadId ?? null],
    queryFn: ({ pageParam, signal }) => readReports(client, threadId, pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    refetchInterval: listInterval,
  });
}

function readReports(
  client: Client,
  threadId: string | undefined,
  cursor: string | undefined,
  signal?: AbortSignal,
) {
  return client.listRetentionReports({
    ...(threadId === undefined ? {} : { threadId }),
    ...(cursor === undefined ? {} : { cursor }),
    limit: PAGE_REPORTS,
    signal,
  });
}

/** Names the operations that store a rule and have it counted. */
export function needsOfRule({ thing }: RuleOwner): Need[] {
  return [
    { operation: "put_retention_policy", thing },
    { operation: "run_retention", thing },
  ];
}

/** Stores a rule that only reports, and has the server count at once. Until the rule is put again it deletes nothing. */
export async function beginDryRun(
  client: Client,
  threadId: string | undefined,
  rule: Rule,
): Promise<RetentionPolicy> {
  const put = await client.putRetentionPolicy({ ...rule, threadId, dryRun: true });
  await client.runRetention(threadId);
  return put;
}

/** Lets the counted rule delete. Returns false where somebody has changed it meanwhile: then nothing is done. */
export async function letDelete(client: Client, counted: RetentionPolicy): Promise<boolean> {
  const { threadId, updatedAt } = counted;
  const now = await client.getRetentionPolicy(threadId);
  if (now?.updatedAt.getTime() !== updatedAt.getTime()) return false;
  await client.putRetentionPolicy({ ...ruleIn(counted), threadId, dryRun: false });
  await client.runRetention(threadId);
  return true;
}

/** Puts a rule back as it was, also one that was not there. */
export async function putBack(
  client: Client,
  threadId: string | undefined,
  before: RetentionPolicy | null,
): Promise<void> {
  if (before === null) await client.deleteRetentionPolicy(threadId);
  else await client.putRetentionPolicy({ ...ruleIn(before), threadId, dryRun: before.dryRun });
}

export function ruleIn(policy: RetentionPolicy): Rule {
  const { keepLast, olderThanSeconds, expireAfterSeconds, keepInterrupted } = policy;
  return { keepLast, olderThanSeconds, expireAfterSeconds, keepInterrupted };
}

/** Returns the report of the first dry run that began after the rule was put; null while there is none. */
export async function reportOf(
  client: Client,
  { threadId, updatedAt }: RetentionPolicy,
  signal?: AbortSignal,
): Promise<RetentionReport | null> {
  let cursor: string | undefined;
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const { reports, nextCursor } = await readReports(client, threadId, cursor, signal);
    const fresh = reports.filter(({ startedAt }) => startedAt >= updatedAt);
    const found = fresh.find((one) => one.dryRun && one.threadId === threadId);
    if (found) return found;
    const last = reports.at(-1);
    if (nextCursor === undefined || last === undefined || last.finishedAt < updatedAt) return null;
    cursor = nextCursor;
  }
  return null;
}
