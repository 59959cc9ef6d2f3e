/** `client.snapshots` on the real server: exact returns, typed refusals, lost replies. */

import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import {
  ArchiveNotFoundError,
  Client,
  FenceStaleError,
  InvalidError,
  LeaseHeldError,
  NamespaceExistsError,
  type RestoredThread,
  SessionExistsError,
  SessionNotFoundError,
  SnapshotNotFoundError,
  type StagedArchive,
  ThreadExistsError,
  ThreadNotFoundError,
} from "threadkeep";
import { ThreadkeepSaver, ThreadkeepStore } from "threadkeep/langgraph";
import { beforeEach, describe, expect, it } from "vitest";
import { checkpoint, list, put } from "../support/checkpoints.js";
import { CountingProxy } from "../support/proxy.js";
import { ENGINES } from "../support/servers.js";
import { newTenant } from "../support/sessions.js";
import { bare } from "../support/stores.js";
import { tarOf } from "../support/tar.js";

const NOTES = ["ann", "notes"];
const FILES = ["ann", "filesystem"];
const SESSION = { kind: "test", key: ["-a/b", "s 🎈"] };
const WHAT = { threads: ["t", ".."], namespaces: [["ann"]], sessions: [SESSION] };

describe.each(ENGINES)("on %s", (engine) => {
  let access: { url: string; apiKey: string };
  let client: Client;
  let saver: ThreadkeepSaver;
  let store: ThreadkeepStore;

  beforeEach(async () => {
    access = await newTenant(engine);
    client = new Client(access);
    saver = new ThreadkeepSaver(access);
    store = new ThreadkeepStore(access);
  });

  async function move(step: string) {
    for (const thread of WHAT.threads) await put(saver, thread, checkpoint(step, { a: step }));
    await store.put(NOTES, "same", { step });
    await store.put(NOTES, step, { step });
    await client.files.write(FILES, "/same.md", step);
    await client.sessions.append(SESSION, [{ data: { step } }]);
  }

  async function shown(threads = WHAT.threads) {
    const fresh = new ThreadkeepSaver(access);
    const points = await Promise.all(threads.map((thread) => list(fresh, thread)));
    return points.map((found) => found.map((one) => one.checkpoint));
  }

  async function items() {
    const found = await store.search(["ann"], { limit: 1_000 });
    // What comes back has other numbers.
    const loaded = await client.sessions.loadAll(SESSION);
    const entries = loaded?.map((entry) => entry.data);
    return { items: found.map((item) => JSON.stringify(bare(item))).sort(), entries };
  }

  it("the archive of a workspace is staged, taken and given back as it arrives", async () => {
    const noise = crypto.getRandomValues(new Uint8Array(65_536));
    const large = Buffer.concat(Array.from({ length: 48 }, () => noise));
    const tar = tarOf({ "a.txt": "a", "large.bin": large });
    const sha256 = createHash("sha256").update(tar).digest("hex");
    const sent = [tar, gzipSync(tar), new Blob([tar as BlobPart])];
    const staged = [];
    for (const one of sent) {
      staged.push(await client.snapshots.putArchive("w", one, { sha256 }));
    }
    for (const one of staged) {
      expect(one).toMatchObject({ workspace: "w", sizeBytes: tar.length, fileCount: 2, sha256 });
    }
    const [first, second, third] = staged as [StagedArchive, StagedArchive, StagedArchive];
    const taken = await client.snapshots.take({ snapshotId: "s", archive: first });
    const { archiveId, ...kept } = first;
    expect(taken.archive).toEqual(kept);
    expect(archiveId).toMatch(/^arc_[0-9a-f]{32}$/);
    // Whoever repeats all of it finds the same.
    const again = await client.snapshots.take({ snapshotId: "s", archive: second.archiveId });
    expect(again).toEqual(taken);
    const proxy = await CountingProxy.before(access.url);
    const through = new Client({ ...access, url: proxy.url });
    proxy.lose(1);
    await through.snapshots.take({ snapshotId: "other", archive: third });
    const stream = await through.snapshots.getArchive("other");
    expect(Buffer.from(await new Response(stream).arrayBuffer()).equals(tar)).toBe(true);
    expect(proxy.lost).toBe(1);
    await proxy.close();
    await client.snapshots.take({ snapshotId: "without" });
    expect(await client.snapshots.get("without")).not.toHaveProperty("archive");
    await expect(client.snapshots.getArchive("without")).rejects.toThrow(ArchiveNotFoundError);
    await expect(client.snapshots.getArchive("absent")).rejects.toThrow(SnapshotNotFoundError);
    const unknown = client.snapshots.take({ archive: `arc_${"0".repeat(32)}` });
    await expect(unknown).rejects.toThrow(ArchiveNotFoundError);
    for (const wrong of [tar.subarray(0, 700), new Uint8Array()]) {
      await expect(client.snapshots.putArchive("w", wrong)).rejects.toThrow(InvalidError);
    }
    const other = client.snapshots.putArchive("w", tar, { sha256: "0".repeat(64) });
    await expect(other).rejects.toMatchObject({ field: "sha256" });
  });

  it("an archive whose connection breaks is gone on with", async () => {
    const noise = crypto.getRandomValues(new Uint8Array(65_536));
    const tar = tarOf({ "large.bin": Buffer.concat(Array.from({ length: 48 }, () => noise)) });
    const archive = await client.snapshots.putArchive("w", tar);
    await client.snapshots.take({ snapshotId: "s", archive });
    const proxy = await CountingProxy.before(access.url);
    const through = new Client({ ...access, url: proxy.url });
    proxy.cut(1_000_000);
    const stream = await through.snapshots.getArchive("s");
    expect(Buffer.from(await new Response(stream).arrayBuffer()).equals(tar)).toBe(true);
    expect(proxy.cuts).toBe(1);
    // What had come did not come again.
    expect(proxy.received).toBeLessThan(tar.length + 500_000);
    await proxy.close();
  });

  it("everything comes back in place, and the undo is undone", async () => {
    await move("c1");
    const labels = { who: "ann" };
    const document = { odd: "nul \0, lone \ud800", list: [null, 1.5] };
    const taken = await client.snapshots.take({ ...WHAT, labels, document });
    expect(taken).toMatchObject({ labels, document });
    expect(taken.threads.map((one) => one.checkpoints)).toEqual([1, 1]);
    expect(taken.namespaces).toMatchObject([{ namespace: ["ann"], items: 3 }]);
    expect(taken.sessions).toMatchObject([{ ...SESSION, entries: 1 }]);
    expect(taken.takenAt).toBeInstanceOf(Date);
    expect(taken).not.toHaveProperty("expiresAt");
    expect(await client.snapshots.get(taken.snapshotId)).toEqual(taken);
    const then = await shown();
    await move("c2");
    const now = await shown();
    expect(now).not.toEqual(then);
    const asked = await client.snapshots.restore(taken.snapshotId, { dryRun: true });
    expect(await shown()).toEqual(now);
    const done = await client.snapshots.restore(taken.snapshotId);
    expect(await shown()).toEqual(then);
    const counts = ({ checkpoints, replacedCheckpoints }: RestoredThread) => {
      return [checkpoints, replacedCheckpoints];
    };
    expect(done.threads.map(counts)).toEqual(asked.threads.map(counts));
    expect(asked.dryRun).toBe(true);
    expect(asked).not.toHaveProperty("safetySnapshotId");
    await client.snapshots.restore(done.safetySnapshotId as string);
    expect(await shown()).toEqual(now);
  });

  it("namespaces and sessions go where there is nothing", async () => {
    await move("c1");
    await client.snapshots.take({ ...WHAT, snapshotId: "s" });
    const then = await client.sessions.loadAll(SESSION);
    await move("c2");
    const target = { kind: "test", key: ["copy"] };
    const elsewhere = {
      namespaces: [{ namespace: ["ann"], into: ["bob", "copies"] }],
      sessions: [{ ...SESSION, into: target.key }],
      subjects: { ann: "bob" },
    };
    const before = await items();
    const done = await client.snapshots.restore("s", elsewhere);
    expect(done.namespaces).toMatchObject([{ into: ["bob", "copies"], written: 3, removed: 0 }]);
    expect(done.sessions).toMatchObject([{ key: SESSION.key, into: ["copy"], created: true }]);
    expect(done).not.toHaveProperty("safetySnapshotId");
    expect(await items()).toEqual(before);
    const found = await store.get(["bob", "copies", "notes"], "same");
    expect(found?.value).toEqual({ step: "c1" });
    expect(await client.sessions.loadAll(target)).toEqual(then);
    const again = client.snapshots.restore("s", { namespaces: elsewhere.namespaces });
    await expect(again).rejects.toThrow(NamespaceExistsError);
    const too = client.snapshots.restore("s", { sessions: elsewhere.sessions });
    await expect(too).rejects.toThrow(SessionExistsError);
  });

  it("threads come back under new names, all or none", async () => {
    await move("c1");
    await client.snapshots.take({ snapshotId: "s", ...WHAT });
    const then = await shown();
    await move("c2");
    const now = await shown();
    await client.snapshots.restore("s", {
      threads: [
        { threadId: "t", into: "t copy" },
        { threadId: "..", into: ".. copy" },
      ],
    });
    expect(await shown(["t copy", ".. copy"])).toEqual(then);
    expect(await shown()).toEqual(now);
    const taken = {
      threads: [
        { threadId: "t", into: "fresh" },
        { threadId: "..", into: "t" },
      ],
    };
    await expect(client.snapshots.restore("s", taken)).rejects.toThrow(ThreadExistsError);
    expect(await client.getThread("fresh")).toBeUndefined();
    await client.snapshots.restore("s", { threads: [{ threadId: "t" }], safety: false });
    expect(await shown()).toEqual([then[0], now[1]]);
  });

  it("namespaces and sessions come back in place, alone or with the rest", async () => {
    await move("c1");
    await client.snapshots.take({ snapshotId: "s", ...WHAT });
    const [then, thenItems] = [await shown(), await items()];
    await move("c2");
    const now = await shown();
    const chosen = { namespaces: [{ namespace: ["ann"] }], sessions: [SESSION] };
    const asked = await client.snapshots.restore("s", { ...chosen, dryRun: true });
    expect(await items()).not.toEqual(thenItems);
    const done = await client.snapshots.restore("s", chosen);
    expect(done.namespaces).toEqual(asked.namespaces);
    expect(done.sessions).toEqual(asked.sessions);
    expect(done.sessions).toMatchObject([{ ...SESSION, entries: 1, replacedEntries: 2 }]);
    expect(done.namespaces).toMatchObject([{ written: 2, unchanged: 1, removed: 1 }]);
    expect(await items()).toEqual(thenItems);
    expect(await shown()).toEqual(now);
    await move("c3");
    await client.snapshots.restore("s");
    expect(await items()).toEqual(thenItems);
    expect(await shown()).toEqual(then);
  });

  it("snapshots are listed newest first, by labels, and deleted", async () => {
    await move("c1");
    for (const number of [0, 1, 2, 3]) {
      const labels = { parity: String(number % 2) };
      await client.snapshots.take({ snapshotId: `s${number}`, ...WHAT, labels });
    }
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await client.snapshots.list({ limit: 3, cursor });
      found.push(...page.snapshots.map((one) => one.snapshotId));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(found).toEqual(["s3", "s2", "s1", "s0"]);
    await client.snapshots.delete("s3");
    await client.snapshots.delete("s3");
    const odd = await client.snapshots.list({ labels: { parity: "1" } });
    expect(odd.snapshots.map((one) => one.snapshotId)).toEqual(["s1"]);
    expect(await client.snapshots.get("s3")).toBeUndefined();
    await expect(client.snapshots.restore("s3")).rejects.toThrow(SnapshotNotFoundError);
    const again = { snapshotId: "s1", ...WHAT, labels: { parity: "1" } };
    expect(await client.snapshots.take(again)).toEqual(odd.snapshots[0]);
    await expect(client.snapshots.take({ ...again, labels: {} })).rejects.toThrow(InvalidError);
    const absent = { threads: ["t", "absent"] };
    await expect(client.snapshots.take(absent)).rejects.toThrow(ThreadNotFoundError);
    const none = { sessions: [{ kind: "test", key: ["absent"] }] };
    await expect(client.snapshots.take(none)).rejects.toThrow(SessionNotFoundError);
  });

  it("lost replies do it once", async () => {
    await move("c1");
    const proxy = await CountingProxy.before(access.url);
    const far = new Client({ ...access, url: proxy.url });
    proxy.lose(1);
    const { snapshotId } = await far.snapshots.take(WHAT);
    const then = await shown();
    await move("c2");
    proxy.lose(1);
    const { safetySnapshotId } = await far.snapshots.restore(snapshotId);
    expect(proxy.lost).toBe(2);
    expect(await shown()).toEqual(then);
    const { snapshots } = await client.snapshots.list();
    expect(snapshots.map((one) => one.snapshotId).sort()).toEqual(
      [snapshotId, safetySnapshotId].sort(),
    );
    await proxy.close();
  });

  it("a leased thread is restored by its holder, and a lease is broken", async () => {
    await move("c1");
    await client.snapshots.take({ snapshotId: "s", ...WHAT });
    const { fence } = await client.acquireLease("t", "holder", { ttlSeconds: 600 });
    await expect(client.snapshots.restore("s")).rejects.toThrow(LeaseHeldError);
    const wrong = [{ threadId: "t", fence: fence + 1 }];
    await expect(client.snapshots.restore("s", { leases: wrong })).rejects.toThrow(FenceStaleError);
    await client.snapshots.restore("s", { leases: [{ threadId: "t", fence }] });
    await client.breakLease("t");
    const other = await client.acquireLease("t", "other", { ttlSeconds: 600 });
    expect(other.fence).toBeGreaterThan(fence);
    await expect(client.renewLease("t", "holder", { fence, ttlSeconds: 600 })).rejects.toThrow(
      FenceStaleError,
    );
  });

  it("a thread is forked at a checkpoint, and says where it branches", async () => {
    for (const [parent, id] of [
      [undefined, "c1"],
      ["c1", "c2"],
      ["c2", "c3"],
    ] as const) {
      const more = parent === undefined ? {} : { checkpoint_id: parent };
      await put(saver, "t", checkpoint(id, { a: id }), more);
    }
    expect((await client.getThread("t"))?.forks).toBe(0);
    await put(saver, "t", checkpoint("c4", { a: "c4" }), { checkpoint_id: "c2" });
    expect((await client.getThread("t"))?.forks).toBe(1);
    await client.forkThread("t", "fork", { checkpointId: "c2" });
    const fork = await list(saver, "fork");
    expect(fork.map((one) => one.checkpoint.channel_values["a"])).toEqual(["c2", "c1"]);
    expect((await client.getThread("fork"))?.forks).toBe(0);
    await expect(client.forkThread("t", "fork", { checkpointId: "c1" })).rejects.toThrow(
      ThreadExistsError,
    );
    await expect(client.forkThread("absent", "x", { checkpointId: "c1" })).rejects.toThrow(
      ThreadNotFoundError,
    );
  });
});
