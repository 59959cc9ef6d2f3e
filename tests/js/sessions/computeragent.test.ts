/** ComputerAgent: stores built from a session's options, and conversations of its deepagents engine that outlive a sandbox. */

import { createHash, randomUUID } from "node:crypto";
import { fileURLToPath } from "node:url";
import { InMemorySessionStore } from "@anthropic-ai/claude-agent-sdk";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { Client } from "threadkeep";
import type { SessionStore } from "threadkeep/claude";
import { httpSessionStore, sessionStoreCheckpointer } from "threadkeep/computeragent";
import { afterEach, describe, expect, it, vi } from "vitest";
import { agent, calls } from "../support/agents.js";
import { run } from "../support/processes.js";
import { ENGINES } from "../support/servers.js";
import { newTenant } from "../support/sessions.js";

const PROCESS = fileURLToPath(new URL("deepagent_process.mjs", import.meta.url));

afterEach(() => vi.unstubAllEnvs());

/** A saver as each boot of a sandbox makes it, over the store that stays. */
function booted(store: SessionStore) {
  return sessionStoreCheckpointer(store, { sessionId: "sbx_1" });
}

function recall(messages: BaseMessage[]): AIMessage {
  const texts = messages.filter((it) => it.getType() === "human").map((it) => it.text);
  return new AIMessage(/password: (\S+)\./.exec(texts.join("\n"))?.[1] ?? "forgotten");
}

const CONFIG = { configurable: { thread_id: "sbx_1" } };

async function tellThenAsk(store: SessionStore) {
  const write = calls(["w", "write_file", { file_path: "/state.md", content: "kept" }]);
  const first = agent(booted(store), [write, new AIMessage("ACKNOWLEDGED")]);
  const told = new HumanMessage("Remember the password: AURORA-42. Reply: ACKNOWLEDGED.");
  await first.invoke({ messages: [told] }, CONFIG);
  const second = agent(booted(store), [recall]);
  const asked = new HumanMessage("What was the password I told you earlier?");
  return await second.invoke({ messages: [asked] }, CONFIG);
}

describe("a deep agent over a session store", () => {
  it("remembers, in the store that the SDK has in memory", async () => {
    const store = new InMemorySessionStore();
    const state = await tellThenAsk(store);
    expect(state.messages.at(-1).text).toBe("AURORA-42");
    expect(state.messages).toHaveLength(6);
    expect(JSON.stringify(state.files["/state.md"].content)).toContain("kept");
  });

  it("shares its log with other entries, and reads each of its own once", async () => {
    const store = new InMemorySessionStore();
    const key = { projectKey: "computeragent", sessionId: "sbx_1" };
    // A store that looks at no uuid, and delivers an append twice.
    const doubling: SessionStore = {
      append: async (at, entries) => {
        await store.append(at, [{ type: "ca_user", text: "other" }]);
        await store.append(at, entries);
        await store.append(at, entries);
      },
      load: (at) => store.load(at),
    };
    const state = await tellThenAsk(doubling);
    expect(state.messages.at(-1).text).toBe("AURORA-42");
    expect((await store.load(key))?.some((it) => it.type === "ca_user")).toBe(true);
  });

  it("keeps nothing of a thread that was deleted, and begins it anew", async () => {
    const store = new InMemorySessionStore();
    await tellThenAsk(store);
    await booted(store).deleteThread("sbx_1");
    expect(await booted(store).getTuple(CONFIG)).toBeUndefined();
    const again = agent(booted(store), [recall]);
    const state = await again.invoke({ messages: [new HumanMessage("What was it?")] }, CONFIG);
    expect(state.messages.at(-1).text).toBe("forgotten");
    expect(state.messages).toHaveLength(2);
  });

  it("fails when the store does, and takes no failure for an absence", async () => {
    const failing: SessionStore = {
      append: () => Promise.reject(new Error("full")),
      load: () => Promise.reject(new Error("away")),
    };
    await expect(booted(failing).getTuple(CONFIG)).rejects.toThrow("away");
    await expect(booted(failing).deleteThread("t")).rejects.toThrow("full");
    const running = agent(booted(failing), [recall]);
    await expect(running.invoke({ messages: [new HumanMessage("x")] }, CONFIG)).rejects.toThrow();
  });

  it("costs a whole state for each step, as the guide says", async () => {
    const store = new InMemorySessionStore();
    await tellThenAsk(store);
    const key = { projectKey: "computeragent", sessionId: "sbx_1" };
    const points = ((await store.load(key)) ?? []).filter((it) => it.type.endsWith("checkpoint"));
    const last = points.at(-1);
    expect(points.length).toBe(12);
    // Every message of the conversation is in the last of them.
    expect(last?.["body"]).toContain("AURORA-42");
    expect(last?.["body"]).toContain("ACKNOWLEDGED");
  });
});

describe.each(ENGINES)("on %s", (engine) => {
  it.each(["server", "log"])("two sandboxes, kept as a %s", async (kind) => {
    const tenant = await newTenant(engine);
    const env = { THREADKEEP_URL: tenant.url, SESSION_TOKEN: tenant.apiKey };
    const sessionId = `sbx_${randomUUID()}`;
    const told = await run(PROCESS, [kind, "tell", sessionId], env);
    expect(told, told.stderr).toMatchObject({
      said: { answer: "ACKNOWLEDGED" },
      signal: "SIGKILL",
    });
    const asked = await run(PROCESS, [kind, "ask", sessionId], env);
    expect(asked.said, asked.stderr).toEqual({ answer: "AURORA-42", file: "kept" });
    const client = new Client(tenant);
    expect((await client.getThread(sessionId)) !== undefined).toBe(kind === "server");
    const { sessions } = await client.sessions.list("claude", { stream: "" });
    const logs = sessions.map((it) => it.key);
    expect(logs).toEqual(kind === "log" ? [["computeragent", sessionId]] : []);
  });

  it("an engine that keeps its own lines finds them after a reboot", async () => {
    const tenant = await newTenant(engine);
    vi.stubEnv("MY_TOKEN", tenant.apiKey);
    // What a snapshot keeps of the store: nothing secret.
    const options = JSON.parse(JSON.stringify({ url: tenant.url, tokenEnv: "MY_TOKEN" }));
    const key = { projectKey: "computeragent", sessionId: "s" };
    const line = (type: string, text: string) => {
      const uuid = createHash("sha256")
        .update(type + text)
        .digest("hex");
      return { type, uuid, timestamp: "2026-01-01T00:00:00Z", text };
    };
    const first = httpSessionStore(options);
    await first.append(key, [line("ca_user", "hello")]);
    await first.append(key, [line("ca_user", "hello"), line("ca_assistant", "hi")]);
    // Another directory of each boot makes another project of the SDK's.
    const second = httpSessionStore(options);
    const elsewhere = { projectKey: "-tmp-boot-2", sessionId: "s" };
    expect((await second.load(elsewhere))?.map((it) => it["text"])).toEqual(["hello", "hi"]);
  });
});
