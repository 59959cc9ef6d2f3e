/** `client.store.changes` against the real server: changes while it is followed, restarts, and ends. */

import {
  Client,
  type ItemChange,
  NotGrantedError,
  TokenRevokedError,
  TransportError,
} from "threadkeep";
import { afterEach, describe, expect, it } from "vitest";
import { newAccess } from "../support/files.js";
import { newKey, Server } from "../support/server.js";
import { ENGINES } from "../support/servers.js";

type Changes = ReturnType<Client["store"]["changes"]>;

const NS = ["ann", "memories"];
const followed: Changes[] = [];

afterEach(() => {
  for (const changes of followed.splice(0)) changes.close();
});

function follow(client: Client, prefix: string[] = [], options = {}): Changes {
  const changes = client.store.changes(prefix, options);
  followed.push(changes);
  return changes;
}

async function next(changes: Changes): Promise<ItemChange> {
  const { value } = await changes.next();
  return value ?? expect.fail("the feed has ended");
}

/** The next change of an item. Where a stream begins again does not matter. */
async function nextChange(changes: Changes): Promise<Extract<ItemChange, { type: "change" }>> {
  for (;;) {
    const event = await next(changes);
    if (event.type === "change") return event;
  }
}

describe.each(ENGINES)("on %s", (engine) => {
  it("changes are told while the feed is followed, below the prefix only", async () => {
    const client = new Client(await newAccess(engine));
    await client.store.put(NS, "before", {});
    const changes = follow(client, ["ann"]);
    expect(await next(changes)).toEqual({ type: "ready", position: expect.any(String) });
    await client.store.put(["bob"], "k", {});
    const version = await client.store.put(NS, "k", { a: 1 });
    const put = await nextChange(changes);
    expect(put).toEqual({
      ...{ type: "change", namespace: NS, key: "k", version, kind: "put" },
      position: changes.position,
    });
    await client.store.delete(NS, "k");
    expect(await nextChange(changes)).toMatchObject({ key: "k", kind: "delete", version });
    const exact = follow(client, ["ann"], { exact: true });
    expect((await next(exact)).type).toBe("ready");
    await client.store.put(NS, "below", {});
    await client.store.put(["ann"], "right here", {});
    expect((await nextChange(exact)).key).toBe("right here");
  });

  it("with a position it goes on behind it", async () => {
    const client = new Client(await newAccess(engine));
    const first = follow(client);
    const ready = await next(first);
    await client.store.put(NS, "a", {});
    const { position } = await nextChange(first);
    first.close();
    expect(await first.next()).toEqual({ done: true, value: undefined });
    await client.store.put(NS, "b", {});
    const later = follow(client, [], { after: position });
    expect(await nextChange(later)).toMatchObject({ key: "b" });
    const all = follow(client, [], { after: ready.position });
    expect((await nextChange(all)).key).toBe("a");
    expect((await nextChange(all)).key).toBe("b");
  });

  it("leaving the loop ends it, and so does the signal, by its reason", async () => {
    const client = new Client(await newAccess(engine));
    const changes = follow(client);
    for await (const event of changes) {
      expect(event.type).toBe("ready");
      break;
    }
    expect(await changes.next()).toEqual({ done: true, value: undefined });
    const controller = new AbortController();
    const cancelled = follow(client, [], { signal: controller.signal });
    await next(cancelled);
    const waiting = cancelled.next();
    const reason = new Error("the page was left");
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    const closed = follow(client);
    await next(closed);
    const pending = closed.next();
    closed.close();
    expect(await pending).toEqual({ done: true, value: undefined });
  });

  it("the end of its token is its end, with the error of the token", async () => {
    const access = await newAccess(engine);
    const client = new Client(access);
    const { token, tokenId } = await client.tokens.mint({ subject: "ann" });
    const ann = new Client({ ...access, apiKey: token });
    const changes = follow(ann, ["ann"]);
    await next(changes);
    await client.tokens.revoke({ tokenId });
    await expect(changes.next()).rejects.toBeInstanceOf(TokenRevokedError);
    expect(await changes.next()).toEqual({ done: true, value: undefined });
    const other = await client.tokens.mint({
      grants: { threads: [{ id: "t", actions: ["read"] }] },
    });
    const reader = new Client({ ...access, apiKey: other.token });
    await expect(follow(reader, ["ann"]).next()).rejects.toBeInstanceOf(NotGrantedError);
  });
});

it("a change made while the server was away is told after its restart, without a gap", async () => {
  const server = await new Server().start();
  try {
    const client = new Client({ url: server.url, apiKey: await newKey(server.place) });
    const changes = follow(client);
    expect((await next(changes)).type).toBe("ready");
    await client.store.put(NS, "before", {});
    expect((await nextChange(changes)).key).toBe("before");
    const waiting = nextChange(changes);
    await server.stop();
    await server.start();
    // Nobody follows this server but through the position that the client sends again.
    await client.store.put(NS, "after", {});
    expect((await waiting).key).toBe("after");
    await client.store.put(NS, "last", {});
    expect((await nextChange(changes)).key).toBe("last");
    const forgotten = follow(client.withOptions({ timeoutMs: 200 }));
    await next(forgotten);
    await server.stop("SIGKILL");
    await expect(forgotten.next()).rejects.toBeInstanceOf(TransportError);
  } finally {
    await server.remove();
  }
});
