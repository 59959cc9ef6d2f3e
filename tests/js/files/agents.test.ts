/** An agent over the recommended routes: its checkpoints stay small, and another process reads its files. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { tool } from "@langchain/core/tools";
import { Client } from "threadkeep";
import { ThreadkeepBackend, threadkeepRoutes } from "threadkeep/deepagents";
import { ThreadkeepSaver } from "threadkeep/langgraph";
import { describe, expect, it } from "vitest";
import { agent, calls, type Line, recall } from "../support/agents.js";
import { type Access, newAccess } from "../support/files.js";
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

it("a server that is gone is an error that the model reads", async () => {
  const gone = new ThreadkeepBackend({
    url: "http://127.0.0.1:9",
    attempts: 1,
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
