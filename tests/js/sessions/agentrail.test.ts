/** Agentrail's session store: what its contract, its code and its guide promise, with concurrency as its routes have it. */

import { type Message, ThreadkeepAgentrailStore } from "threadkeep/agentrail";
import { beforeEach, describe, expect, inject, it } from "vitest";
import { CountingProxy } from "../support/proxy.js";
import { ENGINES } from "../support/servers.js";
import { newAgentrailStore, newTenant } from "../support/sessions.js";
import { assistant, result, textOf, turns, USAGE, user } from "./agentrail_messages.js";

/** Compactions of one session at once. */
const RACERS = 6;
const UUID_4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe.each(ENGINES)("on %s", (engine) => {
  let store: ThreadkeepAgentrailStore;

  beforeEach(async () => {
    store = await newAgentrailStore(engine);
  });

  describe("a session", () => {
    it("is made once, with both its names", async () => {
      const made = await store.getOrCreate("t", "ann", "helper", "s");
      expect(made).toEqual({ sessionId: "s", sessionRef: '["t","s"]' });
      expect(await store.getOrCreate("t", "ann", "other", "s")).toEqual(made);
      const { sessionId, sessionRef } = await store.getOrCreate("t", "ann", "helper");
      expect(sessionId).toMatch(UUID_4);
      expect(store.resolveSessionRef(sessionRef)).toEqual({ tenantId: "t", sessionId });
      expect(store.resolveSessionRef(`t:${sessionId}`)).toEqual({ tenantId: "t", sessionId });
    });

    it("lists its user's, newest first", async () => {
      for (const id of ["a", "b", "c"]) await store.getOrCreate("t", "ann", "x", id);
      await store.getOrCreate("t", "bob", "x", "d");
      await store.getOrCreate("t2", "ann", "x", "e");
      await store.appendMessages("t", "a", [user("hello")]);
      const found = await store.listSessionsByUser("t", "ann");
      expect(found.map((it) => it.sessionId)).toEqual(["a", "c", "b"]);
      for (const { updatedAt } of found)
        expect(Math.abs(Date.now() - updatedAt)).toBeLessThan(60_000);
      expect(await store.listSessionIdsByUser("t", "ann", 1)).toEqual(found.slice(0, 1));
      expect(await store.listSessionsByUser("t", "nobody")).toEqual([]);
    });

    it("is gone with everything after its deletion", async () => {
      const { sessionRef } = await store.getOrCreate("t", "ann", "x", "s");
      await store.appendMessages("t", "s", turns(1));
      await store.writeMemoryDocument("t", "s", "session", "NOTES.md", "x");
      await store.deleteSession("t", "s");
      await store.deleteSession("t", "never");
      expect(await store.loadAllMessages("t", "s")).toEqual([]);
      expect(await store.readMemoryDocument("t", "s", "session", "NOTES.md")).toBeNull();
      expect(await store.listToolResultArtifactIds(sessionRef)).toEqual([]);
      expect(await store.listSessionsByUser("t", "ann")).toEqual([]);
    });
  });

  describe("messages", () => {
    it("come back as they were, oldest first", async () => {
      await store.getOrCreate("t", "ann", "x", "s");
      const later = { laterField: { deep: [1, { a: null }] } };
      const odd = Object.assign(user("nul \0 lone \ud800 crab 🦀"), later);
      const messages = [...turns(2), odd];
      await store.appendMessages("t", "s", messages.slice(0, 3));
      await store.appendMessages("t", "s", messages.slice(3));
      await store.appendMessages("t", "s", []);
      expect(await store.loadAllMessages("t", "s")).toEqual(messages);
      expect(await store.loadMessages("t", "s")).toEqual(messages);
      expect(await store.loadMessages("t", "s", 3)).toEqual(messages.slice(-3));
      expect(await store.loadMessages("t", "s", 100)).toEqual(messages);
      expect(await store.loadMessages("t", "s", 0)).toEqual([]);
    });

    it("of an unknown session are none", async () => {
      expect(await store.loadAllMessages("t", "no")).toEqual([]);
      expect(await store.loadMessages("t", "no", 5)).toEqual([]);
      expect(await store.loadMessagesWithBudget("t", "no")).toEqual([]);
    });

    it("are those of the tenant and the session, whatever they are called", async () => {
      const odd = ["a/b", "-x", "a:b", "%2F", "ü🦀", "a b?c#d", "..."];
      for (const id of odd) await store.appendMessages(id, id, [user(id)]);
      for (const id of odd) expect(await store.loadAllMessages(id, id)).toEqual([user(id)]);
      expect(await store.loadAllMessages("a/b", "-x")).toEqual([]);
    });

    it("fit a budget: the newest, at least one, and not all", async () => {
      const messages = turns(30, 400);
      await store.appendMessages("t", "s", messages);
      const some = await store.loadMessagesWithBudget("t", "s", 1_000);
      expect(some.length).toBeGreaterThanOrEqual(1);
      expect(some.length).toBeLessThan(messages.length);
      expect(some).toEqual(messages.slice(-some.length));
      expect(await store.loadMessagesWithBudget("t", "s", 0)).toEqual(messages.slice(-1));
      expect(await store.loadMessagesWithBudget("t", "s")).toEqual(messages);
    });

    it("may hold images of 10 MB", async () => {
      const data = "iVBORw0KGgo".repeat(1_000_000);
      const content = [{ type: "image" as const, data, mimeType: "image/png" }];
      await store.appendMessages("t", "s", [{ role: "user", content, timestamp: 1 }, user("so?")]);
      const [image, text] = await store.loadAllMessages("t", "s");
      expect(text).toEqual(user("so?"));
      expect(
        JSON.stringify(image) === JSON.stringify({ role: "user", content, timestamp: 1 }),
      ).toBe(true);
    });
  });

  describe("turns", () => {
    it("and messages may be written at once, as /chat does", async () => {
      const { sessionRef } = await store.getOrCreate("t", "ann", "x", "s");
      expect(sessionRef).toBe('["t","s"]');
      const rounds = Array.from({ length: 12 }, (_, at) => {
        const messages = [user(`q${at}`), assistant(`a${at}`)];
        return Promise.all([
          store.appendMessages("t", "s", messages),
          store.recordTurn("t", "s", USAGE),
        ]);
      });
      await Promise.all(rounds);
      const texts = (await store.loadAllMessages("t", "s")).map(textOf);
      expect(texts).toHaveLength(24);
      // Each batch is together.
      for (let at = 0; at < 24; at += 2) expect(texts[at + 1]).toBe(`a${texts[at]?.slice(1)}`);
    });

    it("tell how full the context was in the last of them", async () => {
      await store.getOrCreate("t", "ann", "x", "s");
      expect(await store.getLastContextUsage("t", "s")).toBeNull();
      expect(await store.getLastContextUsage("t", "unknown")).toBeNull();
      await store.recordTurn("t", "s", USAGE);
      const full = {
        ...USAGE,
        inputTokens: 90_000,
        cacheReadTokens: 9_000,
        cacheWriteTokens: 1_000,
      };
      await store.recordTurn("t", "s", full);
      const expected = { inputTokens: 100_000, outputTokens: 20, budgetUsedPct: 50 };
      expect(await store.getLastContextUsage("t", "s")).toEqual(expected);
    });

    it("and messages whose reply was lost happen once", async () => {
      const proxy = await CountingProxy.before(inject("servers")[engine].url);
      const tenant = await newTenant(engine);
      const far = new ThreadkeepAgentrailStore({ ...tenant, url: proxy.url });
      await far.getOrCreate("t", "ann", "x", "s");
      proxy.lose(2);
      await far.appendMessages("t", "s", turns(1));
      proxy.lose(1);
      await far.appendMemoryDocument("t", "s", "session", "NOTES.md", "once\n");
      proxy.lose(1);
      await far.recordTurn("t", "s", USAGE);
      expect(proxy.lost).toBe(4);
      expect(await far.loadAllMessages("t", "s")).toHaveLength(4);
      expect(await far.readMemoryDocument("t", "s", "session", "NOTES.md")).toBe("once\n");
      await proxy.close();
    });
  });

  it("is ready while the server is", async () => {
    await store.ping();
    const away = new ThreadkeepAgentrailStore({ url: "http://127.0.0.1:1", timeoutMs: 100 });
    await expect(away.ping()).rejects.toMatchObject({ code: "transport" });
  });

  describe("a compaction", () => {
    const options = { triggerTokens: 10 };
    const summarize = async (messages: Message[]) => `of ${messages.length}`;

    it("puts a placeholder before the kept tail, and a note into the session's notes", async () => {
      const messages = turns(3);
      await store.appendMessages("t", "s", messages);
      expect(await store.compactIfNeeded("t", "s", summarize, options)).toBe(true);
      const found = await store.loadAllMessages("t", "s");
      expect(found.slice(1)).toEqual(messages.slice(4));
      const text = textOf(found[0]);
      expect(found[0]?.role).toBe("user");
      expect(text).toMatch(/^\[Conversation compacted at \d{4}-.*Z\. Full history preserved in /);
      expect(text).toContain("messages.compactions/0001.jsonl.\nArchive ID: 0001\n4 messages (");
      expect(text).toContain("Summary of compressed conversation:\nof 4\n]");
      const notes = await store.readMemoryDocument("t", "s", "session", "NOTES.md");
      expect(notes).toMatch(/^\n## Compaction Summary \[.*Z\]\n\n\*\(4 messages compressed, /);
      expect(await store.loadFullSessionMessages("t", "s")).toEqual(messages);
      expect(await store.loadCompactedMessages("t", "s", 2, "0001")).toEqual(messages.slice(0, 2));
    });

    it("happens again and again, archives in archives, and nothing is lost", async () => {
      const messages: Message[] = [];
      for (let round = 0; round < 4; round += 1) {
        const more = turns(2).map((it) => ({ ...it, timestamp: round }));
        messages.push(...more);
        await store.appendMessages("t", "s", more);
        const force = { force: true, compactFraction: 0.5 };
        const done = await store.compactSession("t", "s", summarize, force);
        expect(done?.archiveId).toBe(`000${round + 1}`);
      }
      expect(await store.loadFullSessionMessages("t", "s")).toEqual(messages);
      const notes = await store.readMemoryDocument("t", "s", "session", "NOTES.md");
      expect(notes?.match(/## Compaction Summary/g)).toHaveLength(4);
    });

    it("keeps text that looks like a mark as it is", async () => {
      await store.appendMessages("t", "s", turns(2));
      const odd = async () => "about {archive_id} and {archiveId} \0";
      await store.compactIfNeeded("t", "s", odd, options);
      const [placeholder] = await store.loadAllMessages("t", "s");
      expect(textOf(placeholder)).toContain("about {archive_id} and {archiveId} \0");
    });

    it("begins the tail with no result whose call is gone", async () => {
      const messages = [user("q"), assistant("", "c1"), result("c1", "1"), result("c1", "2")];
      messages.push(assistant("a"), user("q2"), assistant("a2"));
      await store.appendMessages("t", "s", messages);
      await store.compactIfNeeded("t", "s", summarize, options);
      const found = await store.loadAllMessages("t", "s");
      expect(found.slice(1)).toEqual(messages.slice(4));
    });

    it("that runs while messages are appended loses none of them", async () => {
      const messages = turns(3);
      await store.appendMessages("t", "s", messages);
      const preloadedMessages = await store.loadAllMessages("t", "s");
      const slow = async () => {
        for (let at = 0; at < 3; at += 1)
          await store.appendMessages("t", "s", [user(`late ${at}`)]);
        return "slow";
      };
      const more = { ...options, preloadedMessages };
      expect(await store.compactIfNeeded("t", "s", slow, more)).toBe(true);
      const late = [user("late 0"), user("late 1"), user("late 2")];
      const found = await store.loadAllMessages("t", "s");
      expect(found.slice(1)).toEqual([...messages.slice(4), ...late]);
      expect(await store.loadFullSessionMessages("t", "s")).toEqual([...messages, ...late]);
    });

    it("of several at once is won by one, with appends all the while", async () => {
      const messages = turns(4);
      await store.appendMessages("t", "s", messages);
      let open = () => {};
      const together = new Promise<void>((resolve) => {
        open = resolve;
      });
      let arrived = 0;
      const racing = Array.from({ length: RACERS }, (_, at) =>
        store.compactIfNeeded(
          "t",
          "s",
          async () => {
            arrived += 1;
            if (arrived === RACERS) open();
            await together;
            return `summary ${at}`;
          },
          options,
        ),
      );
      const appending = Array.from({ length: 20 }, (_, at) =>
        store.appendMessages("t", "s", [user(`late ${at}`)]),
      );
      const won = await Promise.all(racing);
      await Promise.all(appending);
      expect(won.filter(Boolean)).toHaveLength(1);
      const full = await store.loadFullSessionMessages("t", "s");
      expect(full.slice(0, 16)).toEqual(messages);
      const late = full.slice(16).map(textOf).sort();
      expect(late).toEqual(Array.from({ length: 20 }, (_, at) => `late ${at}`).sort());
      const placeholders = (await store.loadAllMessages("t", "s")).map(textOf);
      const winner = placeholders.filter((it) => it.startsWith("[Conversation compacted at "));
      expect(winner).toHaveLength(1);
      expect(winner[0]).toContain(`summary ${won.indexOf(true)}`);
      const notes = await store.readMemoryDocument("t", "s", "session", "NOTES.md");
      expect(notes?.match(/## Compaction Summary/g)).toHaveLength(1);
    });

    it("is not made below the trigger, of few messages, or when its summary fails", async () => {
      await store.appendMessages("t", "s", turns(2));
      expect(await store.compactIfNeeded("t", "s", summarize)).toBe(false);
      await store.appendMessages("t", "few", turns(1));
      expect(await store.compactIfNeeded("t", "few", summarize, options)).toBe(false);
      const failing = () => Promise.reject(new Error("no model"));
      await expect(store.compactIfNeeded("t", "s", failing, options)).rejects.toThrow("no model");
      expect(await store.loadAllMessages("t", "s")).toEqual(turns(2));
    });

    it("names the files of the sandbox", async () => {
      await store.appendMessages("t", "s", turns(2));
      const workspaceSnapshot = "a.txt\nb.txt";
      await store.compactIfNeeded("t", "s", summarize, { ...options, workspaceSnapshot });
      const [placeholder] = await store.loadAllMessages("t", "s");
      expect(textOf(placeholder)).toContain(
        "Sandbox workspace at time of compaction:\na.txt\nb.txt\n]",
      );
    });
  });
});
