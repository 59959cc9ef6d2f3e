/** `client.threads.changes` against the real servers: what is made, changed and deleted, and for whom it is told. */

import { Client, type ThreadChange } from "threadkeep";
import { afterEach, describe, expect, inject, it } from "vitest";
import { newAccess } from "../support/files.js";
import { newKey, Server } from "../support/server.js";
import { ENGINES } from "../support/servers.js";

type Changes = ReturnType<Client["threads"]["changes"]>;
const followed: Changes[] = [];

afterEach(() => {
  for (const changes of followed.splice(0)) changes.close();
});

function follow(client: Client, options = {}): Changes {
  const changes = client.threads.changes(options);
  followed.push(changes);
  return changes;
}

async function next(changes: Changes): Promise<ThreadChange> {
  const { value } = await changes.next();
  return value ?? expect.fail("the feed has ended");
}

async function until(changes: Changes, threadId: string, kind = "update") {
  for (;;) {
    const event = await next(changes);
    if (event.type === "change" && event.threadId === threadId && event.kind === kind) return event;
  }
}

describe.each(ENGINES)("on %s", (engine) => {
  it("what is made, committed and deleted is told", async () => {
    const client = new Client(await newAccess(engine));
    await client.threads.create({ threadId: "before" });
    const changes = follow(client);
    expect((await next(changes)).type).toBe("ready");
    await client.threads.create({ threadId: "a" });
    const made = await until(changes, "a");
    await client.threads.update("a", { title: "another" });
    const renamed = await until(changes, "a");
    expect(renamed.generation).toBe(made.generation);
    await client.threads.delete("before");
    await until(changes, "before", "delete");
    const again = follow(client, { after: made.position, ids: ["a"] });
    expect((await next(again)).type).toBe("ready");
    expect((await until(again, "a")).threadId).toBe("a");
  });

  it("somebody hears only of what may be read", async () => {
    const access = await newAccess(engine);
    const client = new Client(access);
    const { token } = await client.tokens.mint({
      grants: { threads: [{ prefix: "mine:", actions: ["read"] }] },
    });
    const changes = follow(new Client({ ...access, apiKey: token }));
    expect((await next(changes)).type).toBe("ready");
    for (const threadId of ["other", "mine:1"]) await client.threads.create({ threadId });
    expect(await next(changes)).toMatchObject({ type: "change", threadId: "mine:1" });
  });
});

it("what another server does is told, also while the own one is away", async () => {
  const place = inject("servers").postgres;
  const near = new Server(place.database[1]);
  await near.start();
  try {
    const apiKey = await newKey(place);
    const far = new Client({ url: place.url, apiKey });
    const changes = follow(new Client({ url: near.url, apiKey }));
    expect((await next(changes)).type).toBe("ready");
    await far.threads.create({ threadId: "a" });
    await until(changes, "a");
    await near.stop("SIGKILL");
    await far.threads.create({ threadId: "b" });
    await far.threads.delete("a");
    await near.start();
    const told = new Map<string, string>();
    while (told.size < 2 || told.get("a") !== "delete") {
      const event = await next(changes);
      expect(event.type).not.toBe("resync");
      if (event.type === "change") told.set(event.threadId, event.kind);
    }
    expect([...told].sort()).toEqual([
      ["a", "delete"],
      ["b", "update"],
    ]);
  } finally {
    await near.remove();
  }
});
