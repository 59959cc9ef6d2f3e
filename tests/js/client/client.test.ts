/** The native client against the real server: threads, leases, retention, tokens, subjects, usage, audit. */

import { inspect } from "node:util";
import {
  Client,
  FenceStaleError,
  InvalidError,
  LeaseHeldError,
  NotFoundError,
  NotGrantedError,
  TokenRevokedError,
  TransportError,
  UnauthorizedError,
  VersionConflictError,
} from "threadkeep";
import { ThreadkeepSaver, ThreadkeepStore } from "threadkeep/langgraph";
import { beforeEach, describe, expect, inject, it } from "vitest";
import { checkpoint, config, list, put } from "../support/checkpoints.js";
import { newKey } from "../support/server.js";
import { ENGINES } from "../support/servers.js";
import { waitUntil } from "../support/waiting.js";

describe.each(ENGINES)("on %s", (engine) => {
  let options: { url: string; apiKey: string };
  let client: Client;
  let saver: ThreadkeepSaver;

  beforeEach(async () => {
    const place = inject("servers")[engine];
    options = { url: place.url, apiKey: await newKey(place) };
    client = new Client(options);
    saver = new ThreadkeepSaver(options);
  });

  it("threads have titles and metadata, and are found by them", async () => {
    const metadata = {
      customer: "acme",
      nested: { n: 1, list: [1, "a"] },
      none: null,
      ü: "\u0000",
    };
    const made = await client.threads.create({ threadId: "trip", title: "Trip to Rome", metadata });
    expect(made).toMatchObject({
      created: true,
      thread: { title: "Trip to Rome", metadata },
    });
    const { version } = made.thread;
    expect((await client.threads.create({ threadId: "trip" })).created).toBe(false);
    const changed = await client.threads.update("trip", {
      metadata: { customer: "b" },
      ifVersion: version,
    });
    expect(changed.metadata).toEqual({ ...metadata, customer: "b" });
    await expect(
      client.threads.update("trip", { title: "x", ifVersion: version }),
    ).rejects.toBeInstanceOf(VersionConflictError);
    await expect(client.threads.update("none")).rejects.toBeInstanceOf(NotFoundError);
    const found = async (conditions: object) =>
      (await client.threads.search(conditions)).threads.map((it) => it.threadId);
    expect(await found({ metadata: { nested: { n: 1 } } })).toEqual(["trip"]);
    expect(await found({ metadata: { nested: { list: [1] } } })).toEqual([]);
    expect(await found({ q: "ROME", ids: ["trip"] })).toEqual(["trip"]);
    expect(await client.threads.count({ createdAfter: new Date(Date.now() + 60_000) })).toBe(0);
    expect((await client.threads.update("trip", { title: null })).title).toBeUndefined();
    const { ttl } = await client.threads.update("trip", { ttl: { minutes: 1.5 } });
    expect(ttl).toEqual({ minutes: 1.5, strategy: "delete", expiresAt: expect.any(Date) });
    await client.threads.create({
      threadId: "short",
      ttl: { minutes: 60, strategy: "keep_latest" },
    });
    expect(await client.getThread("short")).toMatchObject({ ttl: { strategy: "keep_latest" } });
    await saver.deleteThread("short");
    expect(await client.threads.update("trip", { ttl: null })).not.toHaveProperty("ttl");
    const replaced = await client.threads.update("trip", { metadata: {}, replaceMetadata: true });
    expect(replaced.metadata).toEqual({});
    await put(saver, "trip", checkpoint("c1"));
    expect(await client.getThread("trip")).toMatchObject({
      checkpointCount: 1,
      version: replaced.version,
    });
    expect(await client.getThread("trip")).toMatchObject({ status: "idle" });
    expect(await found({ status: ["idle", "busy"], sort: "state_updated" })).toEqual(["trip"]);
    expect(await found({ values: { a: "value" } })).toEqual(["trip"]);
    expect(await client.threads.count({ values: { a: "other" } })).toBe(0);
    expect(await client.threads.count({ status: ["error", "interrupted"] })).toBe(0);
    expect(await client.threads.count({ status: "idle" })).toBe(1);
    const { thread } = await client.threads.create();
    expect(thread.stateUpdatedAt).toEqual(thread.createdAt);
    expect(thread.threadId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    const first = await client.threads.search({ limit: 1, sort: "thread_id" });
    const next = await client.threads.search({
      limit: 1,
      sort: "thread_id",
      cursor: first.nextCursor,
    });
    expect([...first.threads, ...next.threads].map((it) => it.threadId)).toEqual([
      thread.threadId,
      "trip",
    ]);
    expect(next.nextCursor).toBeUndefined();
  });

  it("threads are got and listed, page by page", async () => {
    const ids = ["a", "b", "..", "a/b ü%2F", "c?d&e=f"];
    for (const id of ids) await put(saver, id, checkpoint("c1"));
    const one = await client.getThread("a/b ü%2F");
    expect(one).toMatchObject({ threadId: "a/b ü%2F", checkpointCount: 1, lastStep: 1 });
    expect(one?.createdAt).toBeInstanceOf(Date);
    expect(one?.sizeBytes).toBeGreaterThan(0);
    expect(one).not.toHaveProperty("graphId");
    expect(await client.getThread("absent")).toBeUndefined();
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await client.listThreads({
        limit: 2,
        sort: "thread_id",
        order: "asc",
        ...(cursor === undefined ? {} : { cursor }),
      });
      found.push(...page.threads.map((it) => it.threadId));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(found).toEqual([...ids].sort());
    expect((await client.listThreads({ prefix: "a" })).threads).toHaveLength(2);
    await expect(client.listThreads({ sort: "weight" as never })).rejects.toBeInstanceOf(
      InvalidError,
    );
    const takes = await client.getThreadStorage("a/b ü%2F");
    expect(takes).toMatchObject({ checkpoints: 1, sharedWith: 0 });
    expect(takes?.channels[0]).toMatchObject({ channel: "a", versions: 1 });
    expect(await client.getThreadStorage("absent")).toBeUndefined();
    await expect(client.getThread("")).rejects.toBeInstanceOf(InvalidError);
    await expect(client.getThreadStorage("\ud800")).rejects.toBeInstanceOf(InvalidError);
  });

  it("a lease is held by one", async () => {
    const held = await client.acquireLease("t", "one", { ttlSeconds: 60 });
    expect(held.expiresAt.getTime()).toBeGreaterThan(Date.now());
    await expect(client.acquireLease("t", "two", { ttlSeconds: 60 })).rejects.toBeInstanceOf(
      LeaseHeldError,
    );
    const kept = await client.renewLease("t", "one", { fence: held.fence, ttlSeconds: 60 });
    expect(kept.fence).toBe(held.fence);
    await client.releaseLease("t", "one", { fence: held.fence });
    const next = await client.acquireLease("t", "two", { ttlSeconds: 60 });
    expect(next.fence).toBeGreaterThan(held.fence);
    await expect(
      client.renewLease("t", "one", { fence: held.fence, ttlSeconds: 60 }),
    ).rejects.toBeInstanceOf(FenceStaleError);
    await expect(client.acquireLease("t", "x", { ttlSeconds: 0 })).rejects.toBeInstanceOf(
      InvalidError,
    );
  });

  it("retention removes what its policy says, and reports it", async () => {
    for (const id of ["c1", "c2", "c3"]) await put(saver, "t", checkpoint(id));
    expect(await client.getRetentionPolicy()).toBeUndefined();
    const policy = await client.putRetentionPolicy({ keepLast: 1, dryRun: true });
    expect(policy).toMatchObject({ keepLast: 1, dryRun: true, keepInterrupted: true });
    expect(policy).not.toHaveProperty("threadId");
    expect(await client.getRetentionPolicy()).toEqual(policy);
    expect(await client.getRetentionPolicy("t")).toBeUndefined();
    const exempt = await client.putRetentionPolicy({ threadId: "exempt" });
    const first = await client.listRetentionPolicies({ limit: 1 });
    expect(first.policies).toEqual([policy]);
    const rest = await client.listRetentionPolicies({ cursor: first.nextCursor });
    expect(rest).toEqual({ policies: [exempt] });
    await client.deleteRetentionPolicy("exempt");
    expect(await client.runRetention()).toBe(1);
    const report = await waitUntil(async () => {
      return (await client.listRetentionReports({ limit: 1 })).reports[0];
    }, "the report of a dry run");
    expect(report).toMatchObject({ dryRun: true, threadsPruned: 1, errors: 0 });
    expect(report.removed.checkpoints).toBe(2);
    expect(report.finishedAt.getTime()).toBeGreaterThanOrEqual(report.startedAt.getTime());
    expect(await list(saver, "t")).toHaveLength(3);
    await client.deleteRetentionPolicy();
    await client.deleteRetentionPolicy();
    expect(await client.getRetentionPolicy()).toBeUndefined();
    const pruned = await client.pruneThreads(["t"], { keepLast: 2 });
    expect(pruned.threads).toMatchObject([{ threadId: "t", checkpoints: 1, deleted: false }]);
    expect(await list(saver, "t")).toHaveLength(2);
    expect(await client.pruneThreads([])).toMatchObject({ threads: [] });
  });

  it("tokens are made, narrowed and revoked, and show their secret to nobody", async () => {
    expect(await client.whoami()).toMatchObject({ tenant: expect.stringMatching(/^t-/) });
    expect(await client.whoami()).not.toHaveProperty("grants");
    const minted = await client.tokens.mint({ subject: "ann@acme.test", ttlSeconds: 600 });
    expect(minted.token).toMatch(/^tks_/);
    expect(minted.expiresAt.getTime()).toBeGreaterThan(Date.now());
    expect(inspect(minted)).not.toContain("tks_");
    expect(JSON.stringify(minted)).not.toContain("tks_");
    const ann = new Client({ ...options, apiKey: minted.token });
    expect(await ann.whoami()).toMatchObject({
      subject: "ann@acme.test",
      label: "ann@acme~2etest",
      credential: minted.tokenId,
    });
    const grants = { threads: [{ id: "t", actions: ["read" as const] }] };
    const narrowed = await client.tokens.narrow({ grants });
    const reader = new Client({ ...options, apiKey: narrowed.token });
    expect((await reader.whoami()).grants).toMatchObject(grants);
    await expect(
      reader.tokens.narrow({ grants: { threads: [{ id: "other", actions: ["write"] }] } }),
    ).rejects.toBeInstanceOf(NotGrantedError);
    await expect(reader.usage()).rejects.toBeInstanceOf(NotGrantedError);
    expect(await client.tokens.revoke({ tokenId: narrowed.tokenId })).toBe(narrowed.tokenId);
    await waitUntil(
      () =>
        reader.whoami().then(
          () => false,
          (error) => error instanceof TokenRevokedError,
        ),
      "the revocation to be seen",
    );
    expect(await ann.tokens.revoke()).toBe(minted.tokenId);
    await expect(client.tokens.revoke({ token: "tks_no" })).rejects.toBeInstanceOf(NotFoundError);
  });

  it("subjects are listed with what they have, in pages", async () => {
    expect(await client.subjects.list()).toEqual({ subjects: [] });
    const { token } = await client.tokens.mint({ subject: "bob" });
    const bob = { ...options, apiKey: token };
    await put(new ThreadkeepSaver(bob), "his", checkpoint("c1"));
    await new ThreadkeepStore(bob).put(["bob", "memories"], "k", { a: 1 });
    await new Client(bob).sessions.create({ kind: "mine", key: ["his"] });
    await put(saver, "nobody's", checkpoint("c1"));
    await client.keys.create({ subject: "ann:ünï" });
    const first = await client.subjects.list({ limit: 1 });
    expect(first.subjects).toEqual([
      {
        ...{ subject: "ann:ünï", keys: 1, threads: 0, sessions: 0, snapshots: 0, items: 0 },
        ...{ sizeBytes: 0, partial: false },
      },
    ]);
    const rest = await client.subjects.list({ cursor: first.nextCursor });
    expect(rest.nextCursor).toBeUndefined();
    expect(rest.subjects).toMatchObject([
      { subject: "bob", keys: 0, threads: 1, sessions: 1, snapshots: 0, items: 1, partial: false },
    ]);
    expect(rest.subjects[0]?.sizeBytes).toBeGreaterThan(0);
    const ageMs = Date.now() - (rest.subjects[0]?.updatedAt?.getTime() ?? 0);
    expect(Math.abs(ageMs)).toBeLessThan(600_000);
    await expect(new Client(bob).subjects.list()).rejects.toBeInstanceOf(NotGrantedError);
  });

  it("a subject is erased with all that is its own", async () => {
    const { token } = await client.tokens.mint({ subject: "ann" });
    const ann = { ...options, apiKey: token };
    await put(new ThreadkeepSaver(ann), "hers", checkpoint("c1"));
    await new ThreadkeepStore(ann).put(["ann", "memories"], "k", { a: 1 });
    await put(saver, "another", checkpoint("c1"));
    const receipt = await client.subjects.delete("ann");
    expect(receipt).toMatchObject({ threads: 1, items: 1, checkpoints: 1, deltaBases: 0 });
    expect((await client.listThreads()).threads.map((it) => it.threadId)).toEqual(["another"]);
    const events = (await client.audit({ limit: 50 })).events;
    const acts = events.map((it) => it.act);
    expect(acts.length).toBeGreaterThan(1);
    expect(events[0]?.at).toBeInstanceOf(Date);
    expect(typeof events[0]?.details).toBe("object");
    const [first] = (await client.audit({ limit: 1 })).events;
    const page = await client.audit({ limit: 1 });
    expect(page.nextCursor).toBeDefined();
    const next = await client.audit({ limit: 1, cursor: page.nextCursor });
    expect(next.events[0]?.eventId).not.toBe(first?.eventId);
    expect((await client.audit({ until: new Date(0) })).events).toEqual([]);
    await expect(client.audit({ since: new Date(Number.NaN) })).rejects.toBeInstanceOf(
      InvalidError,
    );
  });

  it("usage, limits, health and strangers", async () => {
    await put(saver, "t", checkpoint("c1"));
    const usage = await client.usage();
    expect(usage.measuredAt).toBeInstanceOf(Date);
    expect(usage.threads).toBeGreaterThanOrEqual(0);
    expect(usage.quota).toEqual({});
    expect((await client.limits()).store_ops_max).toBe(1_000);
    await client.healthz();
    const stranger = new Client({ ...options, apiKey: "tk_no" });
    await stranger.healthz();
    await expect(stranger.whoami()).rejects.toBeInstanceOf(UnauthorizedError);
    const nobody = new Client({ url: "http://127.0.0.1:1", timeoutMs: 100 });
    await expect(nobody.healthz()).rejects.toBeInstanceOf(TransportError);
    expect(inspect(client, { depth: 9 })).not.toContain(options.apiKey);
    expect(await saver.getTuple(config("t"))).toBeDefined();
  });
});
