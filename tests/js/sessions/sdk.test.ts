/** The Claude Agent SDK itself on our store: processes that are killed and resumed elsewhere, and what it does with sessions. */

import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  deleteSession,
  foldSessionSummary,
  forkSession,
  getSessionInfo,
  getSessionMessages,
  getSubagentMessages,
  listSessions,
  listSubagents,
  renameSession,
  type SessionStore,
  tagSession,
} from "@anthropic-ai/claude-agent-sdk";
import { ThreadkeepSessionStore } from "threadkeep/claude";
import { afterAll, describe, expect, it } from "vitest";
import { run, type Said } from "../support/processes.js";
import { ENGINES } from "../support/servers.js";
import { newSessionStore, newTenant } from "../support/sessions.js";

const PROCESS = fileURLToPath(new URL("sdk_process.mjs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "tk-sdk-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Two processes, each in a working directory of its own. */
async function tellThenAsk(tenant: { url: string; apiKey: string }, more = {}): Promise<Said[]> {
  const env = { THREADKEEP_URL: tenant.url, THREADKEEP_API_KEY: tenant.apiKey, ...more };
  const boot = () => join(folder, randomUUID());
  const order = "Remember the password: AURORA-42. Reply: ACKNOWLEDGED.";
  const told = await run(PROCESS, [boot(), order], env);
  const question = "What was the password I told you earlier?";
  return [told, await run(PROCESS, [boot(), question, told.said.sessionId ?? "none"], env)];
}

describe.each(ENGINES)("on %s", (engine) => {
  it("an agent that was killed is remembered by one in another directory", async () => {
    const tenant = await newTenant(engine);
    const [told, asked] = await tellThenAsk(tenant);
    expect(told).toMatchObject({ said: { answer: "ACKNOWLEDGED" }, signal: "SIGKILL" });
    expect(told?.said).not.toHaveProperty("mirrorError");
    const { sessionId } = told?.said ?? {};
    expect(asked?.said).toMatchObject({ answer: "AURORA-42", sessionId });
    const store = new ThreadkeepSessionStore({ ...tenant, projectKey: "pinned" });
    const key = { projectKey: "any", sessionId };
    const types = (await store.load(key))?.map(({ type }) => type);
    const turn = ["queue-operation", "queue-operation", "user", "attachment", "assistant"];
    expect(types).toEqual([
      ...turn,
      "last-prompt",
      "cost-state",
      ...turn,
      "last-prompt",
      "cost-state",
    ]);
    expect((await store.load(key))?.[2]?.["nul"]).toBe("a\0b");
    expect(await store.listSubkeys(key)).toEqual(["subagents/agent-a1"]);
  });

  it("without a pinned project it finds nothing elsewhere: what pinning is for", async () => {
    const [told, asked] = await tellThenAsk(await newTenant(engine), { PINNED: "no" });
    expect(told?.said).toMatchObject({ answer: "ACKNOWLEDGED" });
    expect(asked?.said).not.toHaveProperty("answer", "AURORA-42");
    expect(asked?.stderr).toContain("No conversation found");
  });

  describe("the SDK's own functions", () => {
    const sessionId = randomUUID();
    const [one, two] = [randomUUID(), randomUUID()];
    const about = { sessionId, cwd: "/tmp", version: "2.0.0", isSidechain: false };
    const user = {
      ...about,
      type: "user",
      uuid: one,
      parentUuid: null,
      timestamp: "2026-01-01T00:00:01.000Z",
      message: { role: "user", content: "Remember AURORA-42" },
    };
    const assistant = {
      ...about,
      type: "assistant",
      uuid: two,
      parentUuid: one,
      timestamp: "2026-01-01T00:00:02.000Z",
      message: { role: "assistant", content: [{ type: "text", text: "ACKNOWLEDGED" }] },
    };

    /** With and without summaries: the SDK reads each session itself then. */
    async function spoken(options = {}): Promise<{ sessionStore: SessionStore; dir: string }> {
      const store = await newSessionStore(engine, { projectKey: "pinned", ...options });
      await store.append({ projectKey: "-tmp", sessionId }, [user, assistant]);
      const subpath = "subagents/agent-a1";
      const side = { ...user, isSidechain: true, agentId: "a1", uuid: randomUUID() };
      await store.append({ projectKey: "-tmp", sessionId, subpath }, [side]);
      return { sessionStore: store, dir: "/somewhere/else" };
    }

    it.each([
      ["with summaries", { foldSummary: foldSessionSummary }],
      ["without", {}],
    ])("list, read, name, tag, fork and delete %s", async (_, options) => {
      const at = await spoken(options);
      const messages = await getSessionMessages(sessionId, at);
      expect(messages.map((it) => it.uuid)).toEqual([one, two]);
      await renameSession(sessionId, "A title", at);
      await tagSession(sessionId, "a-tag", at);
      const named = { customTitle: "A title", tag: "a-tag", firstPrompt: "Remember AURORA-42" };
      expect(await listSessions(at)).toMatchObject([{ sessionId, summary: "A title", ...named }]);
      expect(await getSessionInfo(sessionId, at)).toMatchObject(named);
      expect(await listSubagents(sessionId, at)).toEqual(["a1"]);
      expect(await getSubagentMessages(sessionId, "a1", at)).toHaveLength(1);
      const fork = await forkSession(sessionId, at);
      expect(await getSessionMessages(fork.sessionId, at)).toHaveLength(2);
      const found = await listSessions(at);
      expect(found.map((it) => it.sessionId).sort()).toEqual([sessionId, fork.sessionId].sort());
      await deleteSession(sessionId, at);
      expect((await listSessions(at)).map((it) => it.sessionId)).toEqual([fork.sessionId]);
      expect(await getSessionInfo(sessionId, at)).toBeUndefined();
    });
  });
});
