/** UUID aliases of threads: below `/uuid` an SDK that puts ids into the path as they are reaches every thread. */

import { createHash } from "node:crypto";
import { Client } from "@langchain/langgraph-sdk";
import fc from "fast-check";
import { Client as Client1_9 } from "langgraph-sdk-1.9.31";
import { describe, expect, inject, it } from "vitest";
import { newKey } from "../support/server.js";

const IDS = 100;
// docs/guides/agent-server.md names it.
const NAMESPACE = "0d2165f1-4c50-5e3c-bbb6-1d8a01acc1d1";
/** Letters that an address takes apart, or has to escape. */
const LETTERS = [..."aZ09-_.~:/?#[]@!$&'()*+,;=% \"<>\\^`{|}\t\n\u0001\u007fäß€あ😀"];
const SPECIAL = [
  "a/b",
  "..",
  ".",
  "x?y",
  "#%41",
  "search",
  "9E5B7C52-3C1F-4E7B-8F53-0C5A7C3B1D20 ",
];
const SDKS: [string, typeof Client][] = [
  ["the oldest SDK, 1.9.31", Client1_9 as unknown as typeof Client],
  ["the SDK of the suites", Client],
];

function randomIds(): string[] {
  const text = fc.string({ unit: fc.constantFrom(...LETTERS), minLength: 1, maxLength: 120 });
  return [...new Set([...SPECIAL, ...fc.sample(text, 2 * IDS)])].slice(0, IDS);
}

/** The UUID of version 5. */
function aliasOf(threadId: string): string {
  const namespace = Buffer.from(NAMESPACE.replaceAll("-", ""), "hex");
  const bytes = createHash("sha1").update(namespace).update(threadId).digest();
  bytes[6] = (bytes.readUInt8(6) & 0x0f) | 0x50;
  bytes[8] = (bytes.readUInt8(8) & 0x3f) | 0x80;
  const hex = bytes.toString("hex", 0, 16);
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

describe.each(["sqlite", "postgres"] as const)("on %s", (engine) => {
  it.each(SDKS)("random ids are reached below /uuid by %s", async (_, Sdk) => {
    const place = inject("servers")[engine];
    const apiKey = await newKey(place);
    const { threads } = new Sdk({ apiUrl: place.url, apiKey });
    const byUuid = new Sdk({ apiUrl: `${place.url}/uuid`, apiKey }).threads;
    const ids = randomIds();
    const aliases = ids.map(aliasOf);
    expect(new Set(aliases).size).toBe(IDS);
    const reach = async (threadId: string) => {
      const alias = aliasOf(threadId);
      expect((await threads.create({ threadId })).thread_id).toBe(threadId);
      expect((await threads.get(alias)).thread_id).toBe(threadId);
      const changed = await byUuid.update(alias, { metadata: { threadId } });
      expect([changed.thread_id, changed.metadata]).toEqual([alias, { threadId }]);
      expect(await byUuid.get(alias)).toEqual(changed);
      expect((await byUuid.getState(alias)).checkpoint).toBeNull();
    };
    await Promise.all(ids.map(reach));
    const found = await byUuid.search({ limit: 1000 });
    expect(found.map((it) => it.thread_id).sort()).toEqual([...aliases].sort());
    await Promise.all(aliases.map((alias) => byUuid.delete(alias)));
    expect(await threads.count()).toBe(0);
  });
});
