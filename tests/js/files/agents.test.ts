/** An agent over the recommended routes: its checkpoints stay small, and another process reads its files. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { tool } from "@langchain/core/tools";
import { createSummarizationMiddleware } from "deepagents";
import { Client } from "threadkeep";
import { ThreadkeepBackend, ThreadkeepBackendV1, threadkeepRoutes } from "threadkeep/deepagents";
import { ThreadkeepSaver } from "threadkeep/langgraph";
import { describe, expect, it } from "vitest";
import { agent, calls, type Line, recall, Scripted } from "../support/agents.js";
import { type Access, NAMESPACE, newAccess } from "../support/files.js";
import { ENGINES } from "../support/servers.js";
import { cleanEnvironment, ROOT } from "../support/settings.js";

const LARGE = "a long line of a large result\n".repeat(7_000);
const report = tool(() => LARGE, {
  name: "report",
  description: "A large result.",
  schema: { type: "object", properties: {} } as const,
});
const SCRIPT: Line[] = [
  calls(["w1", "write_file", { file_path: "/memories/likes.md", content: "green tea\n" }]),
  calls(["w2", "write_file", { file_path: "/workspace/plan.md", content: "one\ntwo\n" }]),
  calls(["e1", "edit_file", { file_path: "/plan.md", old_string: "two", new_string: "2" }]),
  calls(["r1", "report", {}]),
  calls(["l1", "ls", { path: "/" }], ["g1", "grep", { pattern: "tea" }]),
  calls(["b1", "read_file", { file_path: "/absent.md" }]),
  calls(["t1", "task", { description: "write", subagent_type: "general-purpose" }]),
  // The sub-agent shares the model.
  calls(["s1", "write_file", { file_path: "/memories/by-sub-agent.md", content: "x" }]),
  recall,
  recall,
];
const READER = `
import { threadkeepRoutes } from "threadkeep/deepagents";
const routes = threadkeepRoutes("ann@x.test", { threadId: "t1" });
const { files } = await routes.glob("**/*");
const read = async (path) => (await routes.read(path)).content;
console.log(JSON.stringify({
  paths: files.map((it) => it.path),
  likes: await read("/memory/likes.md"),
  plan: await read("/workspace/plan.md"),
  large: (await routes.downloadFiles([files.at(0).path]))[0].content.length,
}));
`;

async function run(access: Access, script: Line[]) {
  const graph = agent(new ThreadkeepSaver(access), script, {
    backend: threadkeepRoutes("ann@x.test", access),
    tools: [report],
  });
  const messages = [{ role: "user", content: "go on" }];
  return await graph.invoke({ messages }, { configurable: { thread_id: "t1" } });
}

describe.each(ENGINES)("on %s", (engine) => {
  it("works on files that a later process finds", async () => {
    const access = await newAccess(engine);
    const state = await run(access, SCRIPT);
    const said = new Map<string, string>(
      state.messages
        .filter((it: { getType(): string }) => it.getType() === "tool")
        .map((it: { tool_call_id: string; text: string }) => [it.tool_call_id, it.text]),
    );
    expect(said.get("w1")).toBe("Successfully wrote to '/memories/likes.md'");
    expect(said.get("e1")).toBe("Successfully replaced 1 occurrence(s) in '/plan.md'");
    expect(said.get("r1")).toContain("/large_tool_results/r1");
    expect(said.get("l1")).toContain("/plan.md");
    expect(said.get("g1")).toContain("/memories/likes.md");
    expect(said.get("b1")).toBe("Error: File '/absent.md' not found");
    expect(state.files ?? {}).toEqual({});

    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--input-type=module", "-e", READER],
      {
        cwd: `${ROOT}tests/js`,
        env: {
          ...cleanEnvironment(),
          THREADKEEP_URL: access.url,
          THREADKEEP_API_KEY: access.apiKey,
        } as unknown as NodeJS.ProcessEnv,
      },
    );
    expect(JSON.parse(stdout)).toEqual({
      paths: [
        expect.stringMatching(/^\/large_tool_results\/r1/),
        "/memories/by-sub-agent.md",
        "/memories/likes.md",
        "/plan.md",
      ],
      likes: "green tea\n",
      plan: "one\n2\n",
      large: LARGE.length,
    });
    // What the drive shows.
    const user = "ann@x~2etest";
    const { files } = new Client(access);
    const { entries } = await files.ls([user, "threads", "t1", "artifacts"], "/", {
      recursive: true,
    });
    expect(entries).toHaveLength(1);
    expect(await files.stat([user, "filesystem"], "/likes.md")).toMatchObject({ size: 10 });
    expect(await files.stat([user, "workspace"], "/plan.md")).toMatchObject({ size: 6 });
  });

  it("keeps large results out of the checkpoints", async () => {
    const access = await newAccess(engine);
    await run(access, SCRIPT);
    const takes = await new Client(access).getThreadStorage("t1");
    expect(takes?.logicalBytes).toBeGreaterThan(0);
    for (const { newestBytes } of takes?.channels ?? []) {
      expect(newestBytes).toBeLessThan(LARGE.length / 5);
    }
  });

  it("the history of a long conversation is added to, not sent again", async () => {
    const access = await newAccess(engine);
    const sent: [string, number][] = [];
    const counted: typeof fetch = (input, init) => {
      const byteLength = (init?.body as Uint8Array | undefined)?.byteLength ?? 0;
      sent.push([new URL(String(input)).pathname.replace("/v1/files/", ""), byteLength]);
      return fetch(input, init);
    };
    const backend = threadkeepRoutes("ann", { ...access, fetch: counted });
    const turns = Array.from(
      { length: 12 },
      (_, turn) => `question ${turn} ${"tea ".repeat(3_000)}`,
    );
    const summaries = createSummarizationMiddleware({
      ...{ backend, model: new Scripted([]), trimTokensToSummarize: 100 },
      trigger: { type: "messages", value: 6 },
      keep: { type: "messages", value: 2 },
    });
    const graph = agent(new ThreadkeepSaver(access), [], { backend, middleware: [summaries] });
    for (const content of turns) {
      const messages = [{ role: "user", content }];
      await graph.invoke({ messages }, { configurable: { thread_id: "t1" } });
    }
    const { files } = new Client(access);
    const place = ["ann", "threads", "t1", "artifacts"];
    const [history] = (await files.glob(place, "**/*")).matches;
    expect(history?.path).toMatch(/^\/conversation_history\/session_\w{8}.md$/);
    const [found] = await files.download(place, [history?.path ?? ""]);
    const held = new TextDecoder().decode(found?.bytes);
    const kept = turns.filter((_, turn) => held.includes(`question ${turn} `));
    expect(kept.length).toBeGreaterThan(8);
    for (const turn of kept) expect(held.split(turn)).toHaveLength(2);
    const names = sent.map(([name]) => name);
    expect(names.filter((name) => name === "append").length).toBeGreaterThan(2);
    expect(names.filter((name) => name === "write")).toHaveLength(1);
    expect(names).not.toContain("upload");
    const bytes = sent.reduce((sum, [, length]) => sum + length, 0);
    expect(bytes).toBeLessThan(held.length * 1.1);
  });

  it("another user and another thread have files of their own", async () => {
    const access = await newAccess(engine);
    await run(access, SCRIPT);
    const bob = threadkeepRoutes("bob", { ...access, threadId: "t1" });
    expect((await bob.glob("**/*")).files).toEqual([]);
    const other = threadkeepRoutes("ann@x.test", { ...access, threadId: "t2" });
    const paths = (await other.glob("**/*")).files?.map((it) => it.path);
    expect(paths).toEqual(["/memories/by-sub-agent.md", "/memories/likes.md", "/plan.md"]);
  });
});

it("programs of the older protocol have the same files", async () => {
  const access = await newAccess("sqlite");
  const graph = agent(
    undefined,
    [
      calls(["w", "write_file", { file_path: "/a.md", content: "one\ntea\n" }]),
      calls(["x", "write_file", { file_path: "/a.md", content: "other" }]),
      calls(["r", "read_file", { file_path: "/a.md" }], ["l", "ls", {}]),
      calls(["g", "grep", { pattern: "tea" }], ["f", "glob", { pattern: "*.md" }]),
    ],
    { backend: new ThreadkeepBackendV1({ ...access, namespace: NAMESPACE }) },
  );
  const { messages } = await graph.invoke({ messages: [{ role: "user", content: "go" }] }, {});
  const told = messages
    .filter((it: { getType(): string }) => it.getType() === "tool")
    .map((it: { text: string }) => it.text);
  expect(told[0]).toBe("Successfully wrote to '/a.md'");
  expect(told[1]).toMatch(/^Cannot write to \/a.md because it already exists/);
  expect(told[2]).toContain("     2\ttea");
  expect(told[3]).toBe("/a.md (8 bytes)");
  expect(told[4]).toContain("/a.md");
  expect(told[5]).toBe("/a.md");
});

it("a server that is gone is an error that the model reads", async () => {
  const gone = new ThreadkeepBackend({
    url: "http://127.0.0.1:9",
    timeoutMs: 100,
    namespace: ["ann", "filesystem"],
  });
  const graph = agent(
    undefined,
    [
      calls(["w", "write_file", { file_path: "/a.md", content: "x" }]),
      calls(
        ["r", "read_file", { file_path: "/a.md" }],
        ["l", "ls", {}],
        ["g", "glob", { pattern: "*" }],
      ),
      calls(["d", "delete", { file_path: "/a.md" }], ["s", "grep", { pattern: "x" }]),
    ],
    { backend: gone },
  );
  const { messages } = await graph.invoke({ messages: [{ role: "user", content: "go" }] }, {});
  const told = messages.filter((it: { getType(): string }) => it.getType() === "tool");
  expect(told).toHaveLength(6);
  for (const { text } of told) expect(text).toMatch(/^Error/);
});
