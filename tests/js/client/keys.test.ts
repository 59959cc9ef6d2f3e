/** Keys of the own tenant, tokens that only read it, and what a credential can do, against the real server. */

import { inspect } from "node:util";
import {
  Client,
  InvalidError,
  KeyExpiredError,
  NotFoundError,
  NotGrantedError,
  TokenExpiredError,
  UnauthorizedError,
} from "threadkeep";
import { beforeEach, describe, expect, inject, it } from "vitest";
import { newKey, operatorKey } from "../support/server.js";
import { ENGINES } from "../support/servers.js";
import { waitUntil } from "../support/waiting.js";

const EVERY = ["read", "append", "write"];

describe.each(ENGINES)("on %s", (engine) => {
  let options: { url: string; apiKey: string };
  let client: Client;

  const as = (apiKey: string) => new Client({ ...options, apiKey });
  const isLetIn = (apiKey: string) => () =>
    as(apiKey)
      .whoami()
      .then(
        () => true,
        () => false,
      );

  beforeEach(async () => {
    const place = inject("servers")[engine];
    options = { url: place.url, apiKey: await newKey(place) };
    client = new Client(options);
  });

  it("keys are made, listed in pages and revoked, and show their text to nobody", async () => {
    const made = await client.keys.create({ name: "deploy ü", subject: "ann" });
    expect(made.key).toMatch(/^tk_/);
    expect(inspect(made)).not.toContain(made.key);
    const own = (await client.whoami()).credential;
    const first = await client.keys.list({ limit: 1 });
    expect(first.keys.map((it) => it.keyId)).toEqual([own]);
    const { keys, nextCursor } = await client.keys.list({ cursor: first.nextCursor });
    expect(keys).toMatchObject([
      { keyId: made.keyId, name: "deploy ü", subject: "ann", readOnly: false },
    ]);
    expect(made.key.startsWith(keys[0]?.prefix ?? "?")).toBe(true);
    expect(nextCursor).toBeUndefined();
    expect([made.expiresAt, keys[0]?.lastUsedOn]).toEqual([undefined, undefined]);
    await waitUntil(isLetIn(made.key), "the key to be known");
    expect(await client.keys.revoke(made.keyId)).toBe(made.keyId);
    expect(await client.keys.revoke(made.keyId)).toBe(made.keyId);
    await expect(as(made.key).whoami()).rejects.toBeInstanceOf(UnauthorizedError);
    expect((await client.keys.list()).keys[1]?.revokedAt).toBeInstanceOf(Date);
    await expect(client.keys.revoke(own)).rejects.toBeInstanceOf(InvalidError);
    await expect(client.keys.revoke("key_none")).rejects.toBeInstanceOf(NotFoundError);
    await expect(client.keys.create({ name: "x".repeat(101) })).rejects.toMatchObject({
      field: "name",
    });
  });

  it("an operator makes a tenant, its keys and its quota, and reads nothing of it", async () => {
    const operator = as(await operatorKey(inject("servers")[engine]));
    expect(await operator.whoami()).toMatchObject({ operator: true, grants: {} });
    const tenant = `made-${engine}`;
    await expect(operator.operator.quota(tenant)).rejects.toBeInstanceOf(NotFoundError);
    const made = await operator.operator.createKey({ tenant, name: "first" });
    expect(inspect(made)).not.toContain(made.key);
    await waitUntil(isLetIn(made.key), "the key to be known");
    const own = as(made.key);
    expect((await own.whoami()).operator).toBeUndefined();
    await own.threads.create({ threadId: "t" });
    await expect(own.operator.tenants()).rejects.toBeInstanceOf(NotGrantedError);
    await expect(operator.threads.get("t")).rejects.toBeInstanceOf(NotGrantedError);
    await expect(operator.tokens.mint({ subject: "ann" })).rejects.toBeInstanceOf(NotGrantedError);
    const set = await operator.operator.setQuota(tenant, { threadsMax: 9, requestsPerSecond: 500 });
    expect(set.quota).toMatchObject({ threadsMax: 9, requestsPerSecond: 500 });
    expect(await operator.operator.quota(tenant)).toMatchObject({ quota: set.quota });
    const found = [];
    let cursor: string | undefined;
    do {
      const page = await operator.operator.tenants({ limit: 100, cursor });
      found.push(...page.tenants);
      cursor = page.nextCursor;
    } while (cursor);
    expect(found.find((it) => it.tenant === tenant)).toMatchObject({ threads: 1, items: 0 });
    const token = await own.tokens.mint({ subject: "ann" });
    expect(await operator.operator.rotateSecrets(tenant)).toBe(1);
    await waitUntil(async () => !(await isLetIn(token.token)()), "the token to end");
    const { keys } = await operator.operator.listKeys({ tenant });
    expect(keys).toMatchObject([{ keyId: made.keyId, name: "first" }]);
    expect(await operator.operator.revokeKey(made.keyId, { tenant })).toBe(made.keyId);
    const second = await operator.operator.createKey({ name: "second" });
    expect(second.key).toMatch(/^tko_/);
    expect(await operator.operator.revokeKey(second.keyId)).toBe(second.keyId);
    const operators = (await operator.operator.listKeys()).keys;
    expect(operators.find((it) => it.keyId === second.keyId)?.revokedAt).toBeInstanceOf(Date);
  });

  it("a key ends at its time, and so does a token that was made with it", async () => {
    const made = await client.keys.create({ ttlSeconds: 3 });
    const token = await as(made.key).tokens.mint({ subject: "ann" });
    expect(token.expiresAt).toEqual(made.expiresAt);
    const listed = (await client.keys.list()).keys.find((it) => it.keyId === made.keyId);
    expect(listed?.expiresAt).toEqual(made.expiresAt);
    await waitUntil(async () => !(await isLetIn(made.key)()), "the end of the key");
    await expect(as(made.key).whoami()).rejects.toBeInstanceOf(KeyExpiredError);
    await expect(as(token.token).whoami()).rejects.toBeInstanceOf(TokenExpiredError);
    await expect(client.keys.create({ ttlSeconds: 0 })).rejects.toMatchObject({
      field: "ttl_seconds",
      limit: 315_360_000,
    });
  });

  it("a key and a token that only read the tenant see all of it and change nothing", async () => {
    await client.threads.create({ threadId: "t", title: "Trip" });
    const key = await client.keys.create({ readOnly: true });
    const token = await client.tokens.mint({ readOnly: true, ttlSeconds: 600 });
    const { tokens } = await client.tokens.list();
    expect(tokens).toMatchObject([{ tokenId: token.tokenId, readOnly: true }]);
    const [read] = EVERY;
    const reads = { threads: [read], namespaces: [read], sessions: [read], snapshots: [read] };
    for (const secret of [key.key, token.token]) {
      const reader = as(secret);
      const who = await reader.whoami();
      expect(who).toMatchObject({ grants: { tenant: ["read"] } });
      expect(who.capabilities).toEqual({ ...reads, tenant: ["read"] });
      expect((await reader.threads.search()).threads.map((it) => it.title)).toEqual(["Trip"]);
      expect((await reader.keys.list()).keys).toHaveLength(2);
      for (const write of [
        () => reader.threads.create({ threadId: "u" }),
        () => reader.store.put(["n"], "k", {}),
        () => reader.keys.create({ readOnly: true }),
        () => reader.keys.revoke(key.keyId),
      ]) {
        await expect(write()).rejects.toBeInstanceOf(NotGrantedError);
      }
    }
    const capabilities = { threads: EVERY, namespaces: EVERY, sessions: EVERY, snapshots: EVERY };
    expect((await client.whoami()).capabilities).toEqual({
      ...capabilities,
      tenant: ["read", "write"],
    });
  });
});
