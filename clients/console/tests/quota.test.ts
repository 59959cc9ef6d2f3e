/** The form of a quota: what its texts mean, and what a tenant has already. */

import fc from "fast-check";
import type { Quota, Usage } from "threadkeep";
import { describe, expect, it } from "vitest";
import {
  draftOf,
  isSameQuota,
  LIMIT_FIELDS,
  type Limit,
  noteOf,
  quotaIn,
  readLimit,
} from "../src/nouns/tenants/quota_draft.js";
import { isTenantName } from "../src/nouns/tenants/tenant_name.js";

const BYTES = fieldOf("bytesMax");
const THREADS = fieldOf("threadsMax");
const ITEMS = fieldOf("itemsMax");
const RATE = fieldOf("requestsPerSecond");

function fieldOf(limit: Limit) {
  const found = LIMIT_FIELDS.find((one) => one.limit === limit);
  if (found === undefined) throw new Error(`no field for ${limit}`);
  return found;
}

const EMPTY = draftOf({} as Quota);
const USED = { bytes: 2_000, threads: 5, items: 0 } as Usage;

it("a quota comes back from its form as it was, and nothing of it is a limit by itself", () => {
  const count = fc.option(fc.nat(), { nil: undefined });
  const rate = fc.option(fc.integer({ min: 1, max: 1_000_000 }), { nil: undefined });
  const quotas = fc.record({
    bytesMax: count,
    threadsMax: count,
    itemsMax: count,
    requestsPerSecond: rate,
    requestsPerSecondPerToken: rate,
  });
  fc.assert(
    fc.property(quotas, (quota) => {
      expect(quotaIn(draftOf(quota))).toEqual(quota);
      expect(isSameQuota(quotaIn(draftOf(quota)) as Quota, quota)).toBe(true);
    }),
  );
  expect(Object.values(quotaIn(EMPTY) ?? {})).toEqual(Array(5).fill(undefined));
});

describe("a limit of bytes", () => {
  it.each([
    ["50 GB", 50_000_000_000],
    ["50GiB", 50 * 2 ** 30],
    ["1.5 KiB", 1_536],
    ["2.3 gb", 2_300_000_000],
    ["1,000,000", 1_000_000],
    ["1_000", 1_000],
    ["0", 0],
    ["7 B", 7],
  ])("%s", (text, value) => {
    expect(readLimit(BYTES, text)).toEqual({ value });
  });

  it.each(["fifty", "-1", "1.5", "5 PB", "GB", "1e3", "9,007,199,254,740,993", "0x10", "１"])(
    "%s is none",
    (text) => {
      expect(readLimit(BYTES, text)).toHaveProperty("problem");
      expect(quotaIn({ ...EMPTY, bytesMax: text })).toBeUndefined();
    },
  );
});

it("counts have no units, and a rate is at least one request", () => {
  expect(readLimit(THREADS, "50 GB")).toHaveProperty("problem");
  expect(readLimit(THREADS, "0")).toEqual({ value: 0 });
  expect(readLimit(RATE, "0")).toEqual({ problem: "From 1 to 1,000,000" });
  expect(readLimit(RATE, "1000001")).toHaveProperty("problem");
  expect(readLimit(RATE, "500")).toEqual({ value: 500 });
});

it("the form says what a text means, and where the tenant has more already", () => {
  expect(noteOf(BYTES, "", USED)).toBe("no limit");
  expect(noteOf(BYTES, "2 KB", USED)).toBe("2,000 bytes, 2.0 KiB");
  expect(noteOf(BYTES, "1 KB", USED)).toContain("The tenant has more");
  expect(noteOf(THREADS, "4", USED)).toContain("The tenant has more");
  expect(noteOf(THREADS, "5", USED)).toBe("5");
  expect(noteOf(ITEMS, "0", USED)).toBe("0");
  expect(noteOf(RATE, "1", USED)).toBe("1");
  expect(noteOf(RATE, "", USED)).toBe("as the server is set up");
  expect(noteOf(RATE, "none", USED)).toBe("A whole number");
});

it("another limit, or none, is another quota", () => {
  const quota = { bytesMax: 1, threadsMax: 2 } as Quota;
  expect(isSameQuota(quota, { ...quota })).toBe(true);
  expect(isSameQuota(quota, { bytesMax: 1 } as Quota)).toBe(false);
  expect(isSameQuota(quota, { ...quota, requestsPerSecondPerToken: 1 } as Quota)).toBe(false);
});

it("names of tenants are those that the server takes", () => {
  expect(["acme", "a", "0_-", "x".repeat(63)].filter(isTenantName).length).toBe(4);
  const others = ["", "Acme", "a b", "a.b", "~operators", "ü", "acme\n", "x".repeat(64)];
  expect(others.filter(isTenantName)).toEqual([]);
});
