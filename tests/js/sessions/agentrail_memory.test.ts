/** Agentrail's documents, artifacts and todo lists, and what a sandbox manager does with them. */

import type {
  AgentrailSessionStore,
  SandboxMemoProvider,
  ThreadkeepAgentrailStore,
  UserSessionLister,
} from "threadkeep/agentrail";
import { beforeEach, describe, expect, it } from "vitest";
import { ENGINES } from "../support/servers.js";
import { newAgentrailStore } from "../support/sessions.js";
import { turns } from "./agentrail_messages.js";

const REFS = ['["t","s"]', "t:s"];

describe.each(ENGINES)("on %s", (engine) => {
  let store: ThreadkeepAgentrailStore;

  beforeEach(async () => {
    store = await newAgentrailStore(engine);
    await store.getOrCreate("t", "ann", "x", "s");
  });

  it("is each of the contracts", () => {
    store satisfies AgentrailSessionStore & UserSessionLister & SandboxMemoProvider;
    type Branded = string & { readonly brand: unique symbol };
    const branded = store as unknown as ThreadkeepAgentrailStore<Branded>;
    branded satisfies AgentrailSessionStore<Branded>;
    expect(branded).toBe(store);
  });

  it("a document is null, written, replaced, and grows", async () => {
    const at = ["t", "s", "session", "NOTES.md"] as const;
    expect(await store.readMemoryDocument(...at)).toBeNull();
    await store.writeMemoryDocument(...at, "one");
    expect(await store.readMemoryDocument(...at)).toBe("one");
    await store.writeMemoryDocument(...at, "two \0 🦀\n");
    await store.appendMemoryDocument(...at, "three");
    expect(await store.readMemoryDocument(...at)).toBe("two \0 🦀\nthree");
    await store.writeMemoryDocument(...at, "");
    expect(await store.readMemoryDocument(...at)).toBe("");
    await store.appendMemoryDocument("t", "s", "session", "new.md", "from nothing");
    expect(await store.readMemoryDocument("t", "s", "session", "new.md")).toBe("from nothing");
  });

  it("a document may have any name below its folder", async () => {
    for (const name of ["a/b.md", "-x", "ü 🦀.txt", "%2F", "tool-results/c.txt"]) {
      await store.writeMemoryDocument("t", "s", "session", name, name);
      expect(await store.readMemoryDocument("t", "s", "session", name)).toBe(name);
    }
  });

  it("a user's document is that of all sessions, a session's of one", async () => {
    await store.writeMemoryDocument("t", "ann", "user", "USER.md", "likes tea");
    await store.writeMemoryDocument("t", "s", "session", "USER.md", "other");
    await store.getOrCreate("t", "ann", "x", "s2");
    expect(await store.readMemoryDocument("t", "ann", "user", "USER.md")).toBe("likes tea");
    expect(await store.readMemoryDocument("t", "bob", "user", "USER.md")).toBeNull();
    expect(await store.readMemoryDocument("t2", "ann", "user", "USER.md")).toBeNull();
    await store.deleteSession("t", "s");
    expect(await store.readMemoryDocument("t", "ann", "user", "USER.md")).toBe("likes tea");
    const { entries } = await store.buildMemoryIndex("t", "ann", "s2");
    expect(entries.map((it) => it.exists)).toEqual([false, false, true]);
  });

  it("appends at once are all there", async () => {
    const lines = Array.from({ length: 16 }, (_, at) => `line ${at}\n`);
    await Promise.all(
      lines.map((line) => store.appendMemoryDocument("t", "s", "session", "NOTES.md", line)),
    );
    const found = await store.readMemoryDocument("t", "s", "session", "NOTES.md");
    expect(found?.match(/line \d+\n/g)?.sort()).toEqual(lines.sort());
  });

  it("an index has three entries, always", async () => {
    const absent = { exists: false, sizeTokensApprox: 0, updatedAt: null, summary: null };
    const paths = [
      ["NOTES.md", "/workspace/memo/session/NOTES.md"],
      ["TODO.md", "/workspace/memo/session/TODO.md"],
      ["USER.md", "/workspace/memo/user/USER.md"],
    ];
    const none = await store.buildMemoryIndex("t", "ann", "s");
    expect(none).toEqual({ entries: paths.map(([name, path]) => ({ name, path, ...absent })) });
    const notes = "# é\n<!-- summary:  What we know  -->\n<!-- summary: not this -->";
    await store.writeMemoryDocument("t", "s", "session", "NOTES.md", notes);
    const late = `${"x".repeat(512)}<!-- summary: too late -->`;
    await store.writeMemoryDocument("t", "ann", "user", "USER.md", late);
    const { entries } = await store.buildMemoryIndex("t", "ann", "s");
    expect(entries[0]).toMatchObject({
      exists: true,
      sizeTokensApprox: Math.ceil(Buffer.byteLength(notes) / 3),
      summary: "What we know",
    });
    expect(Math.abs(Date.now() - (entries[0]?.updatedAt ?? 0))).toBeLessThan(60_000);
    expect(entries[1]).toMatchObject(absent);
    expect(entries[2]).toMatchObject({ exists: true, summary: null });
  });

  it("a todo list is the session's TODO.md", async () => {
    const todos = store.createTodoStorage('["t","s"]');
    expect(await todos.read()).toBeNull();
    await todos.write("- [ ] one");
    expect(await todos.read()).toBe("- [ ] one");
    expect(await store.readMemoryDocument("t", "s", "session", "TODO.md")).toBe("- [ ] one");
    expect(await store.createTodoStorage("t:s").read()).toBe("- [ ] one");
  });

  it.each(REFS)("artifacts of %s are kept by the id of their call", async (ref) => {
    const ids = ["toolu_01", "call_a/b", "-x", "ü", "%2E"];
    expect(await store.readToolResultArtifact(ref, "unknown")).toBeNull();
    expect(await store.listToolResultArtifactIds(ref)).toEqual([]);
    for (const id of ids) await store.writeToolResultArtifact(ref, id, `first of ${id}`);
    await store.writeToolResultArtifact(ref, "toolu_01", "again \0");
    expect(await store.readToolResultArtifact("t:s", "toolu_01")).toBe("again \0");
    expect(await store.readToolResultArtifact('["t","s"]', "call_a/b")).toBe("first of call_a/b");
    expect((await store.listToolResultArtifactIds(ref)).sort()).toEqual(ids.sort());
    expect(await store.listToolResultArtifactIds("t:other")).toEqual([]);
  });

  it("works when its methods are taken out of it, as a sandbox manager does", async () => {
    const {
      readMemoryDocument,
      writeMemoryDocument,
      listToolResultArtifactIds,
      readToolResultArtifact,
      writeToolResultArtifact,
    } = store;
    await writeMemoryDocument("t", "s", "session", "NOTES.md", "x");
    expect(await readMemoryDocument("t", "s", "session", "NOTES.md")).toBe("x");
    await writeToolResultArtifact("t:s", "c", "y");
    expect(await listToolResultArtifactIds("t:s")).toEqual(["c"]);
    expect(await readToolResultArtifact("t:s", "c")).toBe("y");
    for (const [name, method] of Object.entries(store)) {
      if (typeof method === "function") expect(Object.hasOwn(store, name)).toBe(true);
    }
    expect(Object.getOwnPropertyNames(ThreadkeepPrototype(store))).toEqual(["constructor"]);
  });

  it("logs of skills are kept", async () => {
    const about = { skillName: "research", task: "t", input: "i", systemPrompt: "p" };
    const times = { startedAt: 1_800_000_000_000, finishedAt: 1_800_000_000_500 };
    const log = { ...about, messages: turns(1), resultText: "done \0", ...times };
    await store.persistSkillSubAgentLog('["t","s"]', log);
    await store.persistSkillSubAgentLog("t:s", log);
  });
});

function ThreadkeepPrototype(store: object): object {
  return Object.getPrototypeOf(store);
}
