/** Sessions of the native client against the real server: streams, documents, counters, conditions, compactions. */

import {
  Client,
  ConflictError,
  HeadMovedError,
  NotGrantedError,
  VersionConflictError,
} from "threadkeep";
import { beforeEach, describe, expect, it } from "vitest";
import { ENGINES } from "../support/servers.js";
import { newTenant } from "../support/sessions.js";

const AT = { kind: "mine", key: ["a/b", "-c", "\0 ü🦀"] };

describe.each(ENGINES)("on %s", (engine) => {
  let url: string;
  let client: Client;
  let sessions: Client["sessions"];

  beforeEach(async () => {
    const place = await newTenant(engine);
    ({ url } = place);
    client = new Client(place);
    ({ sessions } = client);
  });

  it("a session is made once, and keeps its first user and agent", async () => {
    const origin = { user: "ann", agent: "helper", title: "a \ud83e\udd80 title" };
    const made = await sessions.create(AT, origin);
    expect(made).toMatchObject({ created: true, ...origin });
    expect(made.createdAt).toBeInstanceOf(Date);
    const again = await sessions.create(AT, { user: "bob", agent: "other" });
    expect(again).toMatchObject({ created: false, user: "ann", agent: "helper" });
    expect(again.createdAt).toEqual(made.createdAt);
  });

  it("entries are numbered from 1 without a gap, in each stream", async () => {
    const entries = [{ id: "a", data: { n: 1 } }, { data: [null, "\0"] }];
    const first = await sessions.append(AT, entries, { create: { user: "ann" } });
    expect(first).toEqual({ firstSeq: 1, lastSeq: 2, head: 2, appended: 2 });
    const second = await sessions.append(AT, [
      { id: "a", data: 9 },
      { id: "b", data: 3 },
    ]);
    expect(second).toEqual({ firstSeq: 3, lastSeq: 3, head: 3, appended: 1 });
    expect(await sessions.append(AT, [{ id: "b", data: 3 }])).toEqual({ head: 3, appended: 0 });
    await sessions.append(AT, [{ id: "a", data: "other" }], { stream: "x/y" });
    const all = await sessions.load(AT);
    expect(all).toMatchObject({ head: 3, more: false });
    expect(all?.entries.map(({ seq, id, data }) => [seq, id, data])).toEqual([
      [1, "a", { n: 1 }],
      [2, undefined, [null, "\0"]],
      [3, "b", 3],
    ]);
    expect((await sessions.load(AT, { afterSeq: 1, limit: 1 }))?.entries[0]?.seq).toBe(2);
    expect((await sessions.load(AT, { tail: 2 }))?.entries.map((it) => it.seq)).toEqual([2, 3]);
    expect((await sessions.load(AT, { bytesMax: 1 }))?.entries).toHaveLength(1);
    expect((await sessions.streams(AT)).map(({ stream, head }) => [stream, head])).toEqual([
      ["", 3],
      ["x/y", 1],
    ]);
  });

  it("what is absent is undefined, empty, or no error", async () => {
    expect(await sessions.load(AT)).toBeUndefined();
    expect(await sessions.loadAll(AT, "x")).toBeUndefined();
    expect(await sessions.getDocument(AT, "n")).toBeUndefined();
    expect(await sessions.streams(AT)).toEqual([]);
    expect(await sessions.listDocuments(AT)).toEqual([]);
    expect(await sessions.findDocuments("mine", "n")).toEqual([]);
    expect((await sessions.list("mine")).sessions).toEqual([]);
    await sessions.delete(AT);
    await sessions.delete(AT, "x");
    await sessions.deleteDocument(AT, "n");
    expect(await sessions.append(AT, [])).toMatchObject({ appended: 0 });
    expect((await sessions.list("mine")).sessions).toEqual([]);
  });

  it("conditions that do not hold change nothing, and say how it is", async () => {
    await sessions.append(AT, [{ data: 1 }], { ifHead: 0 });
    const late = await sessions.append(AT, [{ data: 2 }], { ifHead: 0 }).catch((error) => error);
    expect(late).toBeInstanceOf(HeadMovedError);
    expect(late.currentHead).toBe(1);
    const put = await sessions.putDocument(AT, "n", "one", { ifVersion: 0 });
    const stale = { name: "n", content: "two", ifVersion: 0 };
    const both = sessions.append(AT, [{ data: 2 }], { document: stale });
    await expect(both).rejects.toBeInstanceOf(VersionConflictError);
    await expect(both).rejects.toMatchObject({ currentVersion: put.version });
    expect((await sessions.load(AT))?.head).toBe(1);
    expect((await sessions.getDocument(AT, "n"))?.content).toBe("one");
    const document = { ...stale, ifVersion: put.version };
    const { documentVersion } = await sessions.append(AT, [{ data: 2 }], { document });
    expect((await sessions.getDocument(AT, "n"))?.version).toBe(documentVersion);
  });

  it("documents hold any text, and grow at their end", async () => {
    const text = "a\0b \ud800 lone 🦀\r\n";
    const put = await sessions.putDocument(AT, "notes/\0.md", text);
    expect(put.size).toBeGreaterThan(10);
    await Promise.all(
      Array.from({ length: 8 }, (_, at) => sessions.appendDocument(AT, "notes/\0.md", `<${at}>`)),
    );
    const found = await sessions.getDocument(AT, "notes/\0.md");
    expect(found?.content.startsWith(text)).toBe(true);
    const added = found?.content.slice(text.length).match(/<\d>/g) ?? [];
    expect(added.sort()).toEqual(Array.from({ length: 8 }, (_, at) => `<${at}>`));
    await sessions.putDocument(AT, "other", "");
    expect((await sessions.listDocuments(AT)).map((it) => it.name)).toEqual([
      "notes/\0.md",
      "other",
    ]);
    expect(await sessions.listDocuments(AT, "notes/")).toHaveLength(1);
    const [same] = await sessions.findDocuments("mine", "other", { keyPrefix: ["a/b"] });
    expect(same).toMatchObject({ key: AT.key, content: "" });
    expect(await sessions.findDocuments("mine", "other", { keyPrefix: ["a"] })).toEqual([]);
    await sessions.deleteDocument(AT, "other");
    expect(await sessions.getDocument(AT, "other")).toBeUndefined();
  });

  it("counters count each call once", async () => {
    const counts = await Promise.all(
      Array.from({ length: 16 }, () => sessions.addToCounter(AT, "turns")),
    );
    expect(counts.sort((a, b) => a - b)).toEqual(Array.from({ length: 16 }, (_, at) => at + 1));
    expect(await sessions.addToCounter(AT, "turns", 5)).toBe(21);
    const repeatable = { idempotencyKey: "one" };
    expect(await sessions.addToCounter(AT, "turns", 1, repeatable)).toBe(22);
    expect(await sessions.addToCounter(AT, "turns", 1, repeatable)).toBe(22);
  });

  it("lists are newest first, by prefix, user and stream, page by page", async () => {
    const key = (...parts: string[]) => ({ kind: "listed", key: parts });
    for (const [at, user] of ["ann", "bob", "ann", "ann"].entries()) {
      await sessions.append(key("p", `s${at}`), [{ data: at }], { create: { user } });
    }
    await sessions.append(key("p", "below"), [{ data: 1 }], { stream: "x" });
    await sessions.append(key("p2", "s"), [{ data: 1 }]);
    const names = async (options: object) => {
      return (await sessions.list("listed", options)).sessions.map((it) => it.key.join("/"));
    };
    expect(await names({ keyPrefix: ["p"], stream: "" })).toEqual(["p/s3", "p/s2", "p/s1", "p/s0"]);
    expect(await names({ keyPrefix: ["p"] })).toContain("p/below");
    expect(await names({ user: "ann" })).toEqual(["p/s3", "p/s2", "p/s0"]);
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await sessions.list("listed", { limit: 2, cursor });
      found.push(...page.sessions.map((it) => it.key.join("/")));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(found).toHaveLength(6);
    expect(new Set(found).size).toBe(6);
  });

  it("kinds are listed with how many sessions they have, and only those that may be read", async () => {
    for (const part of ["1", "2"]) await sessions.create({ kind: "claude", key: [part] });
    await sessions.create({ kind: "a-kind", key: ["1"] });
    const first = await client.sessions.kinds({ limit: 1 });
    expect(first.kinds).toMatchObject([{ kind: "a-kind", sessions: 1, partial: false }]);
    const ageMs = Date.now() - (first.kinds[0]?.updatedAtMs ?? 0);
    expect(Math.abs(ageMs)).toBeLessThan(600_000);
    const rest = await client.sessions.kinds({ cursor: first.nextCursor });
    expect(rest.kinds).toMatchObject([{ kind: "claude", sessions: 2, partial: false }]);
    expect(rest.nextCursor).toBeUndefined();
    const actions = ["read" as const];
    const tokenOf = async (grant: object) =>
      (await client.tokens.mint({ grants: { sessions: [{ ...grant, actions }] } })).token;
    const some = new Client({ url, apiKey: await tokenOf({ prefix: "claude:" }) });
    expect((await some.sessions.kinds()).kinds.map((it) => it.kind)).toEqual(["claude"]);
    const one = new Client({ url, apiKey: await tokenOf({ id: "claude:1" }) });
    await expect(one.sessions.kinds()).rejects.toBeInstanceOf(NotGrantedError);
  });

  it("a compaction archives the beginning, and the second of the same finds that it moved", async () => {
    const entries = Array.from({ length: 10 }, (_, at) => ({ data: at + 1 }));
    await sessions.append(AT, entries, { stream: "log" });
    const compaction = {
      stream: "log",
      throughSeq: 4,
      expectedHead: 10,
      count: 4,
      archiveStreamPrefix: "archive/",
      replacement: [{ data: "see {archive_id}" }],
      document: { name: "NOTES.md", append: "note of {archive_id}\n" },
    };
    const done = await sessions.compact(AT, compaction);
    expect(done).toEqual({ archiveId: "0001", head: 10 });
    const shown = async (stream: string) =>
      (await sessions.loadAll(AT, stream))?.map((it) => it.data);
    expect(await shown("log")).toEqual(["see 0001", 5, 6, 7, 8, 9, 10]);
    expect(await shown("archive/0001")).toEqual([1, 2, 3, 4]);
    expect((await sessions.getDocument(AT, "NOTES.md"))?.content).toBe("note of 0001\n");
    const again = sessions.compact(AT, compaction);
    await expect(again).rejects.toBeInstanceOf(HeadMovedError);
    await expect(again).rejects.toBeInstanceOf(ConflictError);
    expect((await sessions.append(AT, [{ data: 11 }], { stream: "log" })).firstSeq).toBe(11);
  });

  it("a deletion of one stream leaves the rest, that of the session nothing", async () => {
    for (const stream of ["", "x", "x/y"]) await sessions.append(AT, [{ data: 1 }], { stream });
    await sessions.putDocument(AT, "n", "1");
    await sessions.delete(AT, "");
    expect(await sessions.load(AT)).toBeUndefined();
    expect((await sessions.streams(AT)).map((it) => it.stream)).toEqual(["x", "x/y"]);
    await sessions.delete(AT);
    expect(await sessions.streams(AT)).toEqual([]);
    expect(await sessions.getDocument(AT, "n")).toBeUndefined();
    // Behind the numbers that somebody may hold.
    expect((await sessions.append(AT, [{ data: 1 }])).firstSeq).toBe(2);
  });

  it("a reader that follows never sees an entry without the one before it", async () => {
    const writers = Array.from({ length: 16 }, async (_, writer) => {
      for (let at = 0; at < 12; at += 1) await sessions.append(AT, [{ data: `${writer}-${at}` }]);
    });
    let isWriting = true;
    const written = Promise.all(writers).finally(() => {
      isWriting = false;
    });
    const seen: number[] = [];
    while (isWriting || seen.length < 16 * 12) {
      const page = await sessions.load(AT, { afterSeq: seen.at(-1) ?? 0 });
      seen.push(...(page?.entries ?? []).map((it) => it.seq));
    }
    await written;
    expect(seen).toEqual(Array.from({ length: 16 * 12 }, (_, at) => at + 1));
  });
});
