/** Messages, calls, sub-agents and files of real agents, as a server showed them. */

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { conversationOf } from "../src/content/conversation.js";
import { messageOf } from "../src/content/messages.js";
import { filesOf, messagesOf, todosOf } from "../src/content/shapes.js";
import {
  callersOf,
  childrenOf,
  joinRuns,
  outerOf,
  runsOf,
  taskOf,
} from "../src/content/subagents.js";

interface Shown {
  values: Record<string, unknown>;
  tasks: { id: string; path: unknown[]; result?: unknown }[];
  writes: { task_id: string; value: unknown }[];
}
interface RunMetadata {
  lc_agent_name?: string;
  parents: Record<string, string>;
}
interface Fixture {
  state: Shown;
  runs: { checkpoint_ns: string; checkpoint_id: string; metadata: RunMetadata }[];
  calling: Shown[];
  inner: Shown[];
}

const AGENTS = ["python", "javascript"];

function fixture(name: string): Fixture {
  const path = new URL(`./fixtures/${name}_agent.json`, import.meta.url);
  return JSON.parse(readFileSync(path, "utf8")) as Fixture;
}

/** As a timeline tells the namespaces of these checkpoints. */
function runsIn({ runs }: Fixture) {
  return runsOf(
    runs.map(({ checkpoint_ns: checkpointNs, checkpoint_id: newest, metadata }) => ({
      checkpointNs,
      newest,
      checkpoints: 1,
      agent: metadata.lc_agent_name,
      parentCheckpointId: metadata.parents[""],
    })),
  );
}

function callingState({ values, tasks, writes }: Shown) {
  return { values, tasks, writes: writes.map(({ task_id: taskId, value }) => ({ taskId, value })) };
}

describe.each(AGENTS)("a deepagents agent in %s", (name) => {
  const found = fixture(name);
  const entries = conversationOf(messagesOf(found.state.values));

  it("shows each call with its result under it", () => {
    const calls = entries.flatMap((entry) => entry.calls);
    const told = calls.map((call) => [call.name, call.result?.parts[0]]);
    expect(told).toContainEqual(["task", { kind: "text", text: "The tide is high at noon." }]);
    expect(told).toContainEqual([
      "write_file",
      { kind: "text", text: expect.stringContaining("/plan.md") },
    ]);
    // What asks for permission has no result yet.
    expect(calls.at(-1)?.result).toBeUndefined();
    expect(entries.map(({ message }) => message.role)).not.toContain("tool");
  });

  it("joins the conversation of the sub-agent with its call", () => {
    const runs = childrenOf(runsIn(found), "");
    expect(runs).toHaveLength(1);
    expect(callersOf(runs)).toHaveLength(1);
    const [calling] = found.calling;
    expect(calling).toBeDefined();
    const joined = joinRuns(callingState(calling as Shown), runs);
    expect([...joined.keys()]).toEqual(["c1"]);
    const inner = conversationOf(messagesOf(found.inner[0]?.values));
    expect(inner.map(({ message }) => message.role)).toEqual(["human", "ai", "ai"]);
    expect(inner[1]?.calls[0]).toMatchObject({ name: "ls", result: { role: "tool" } });
  });

  it("joins a sub-agent that is still running by the place of its call", () => {
    const [calling] = found.calling;
    const running = { ...callingState(calling as Shown), writes: [] };
    const tasks = running.tasks.map(({ id, path }) => ({ id, path }));
    expect([...joinRuns({ ...running, tasks }, runsIn(found)).keys()]).toEqual(["c1"]);
  });

  it("finds the files of the state", () => {
    expect(filesOf(found.state.values)?.entries).toMatchObject([
      { path: "/plan.md", text: "# Plan\n\nSail at noon.\n" },
    ]);
  });
});

it("names the agent where the metadata does", () => {
  expect(runsIn(fixture("python"))[0]?.agent).toBe("researcher");
  expect(runsIn(fixture("javascript"))[0]?.agent).toBeUndefined();
});

it("reads nested namespaces and counted calls", () => {
  expect([
    outerOf("tools:a"),
    outerOf("tools:a|1"),
    outerOf("a:b|tools:c"),
    outerOf("a:b|2|tools:c|1"),
  ]).toEqual(["", "", "a:b", "a:b|2"]);
  expect([taskOf("tools:a"), taskOf("tools:a|1"), taskOf("a:b|2|tools:c|1")]).toEqual([
    "a",
    "a",
    "c",
  ]);
});

it("a result whose call is not there, or that comes twice, stands by itself", () => {
  const ai = { type: "ai", content: "", tool_calls: [{ id: "1", name: "x", args: {} }] };
  const tool = (tool_call_id: string) => ({ type: "tool", content: tool_call_id, tool_call_id });
  const entries = conversationOf([ai, tool("1"), tool("1"), tool("2")]);
  expect(entries.map(({ message }) => message.role)).toEqual(["ai", "tool", "tool"]);
});

describe("forms of messages", () => {
  it.each([
    [{ type: "human", content: "hi" }, "human"],
    [{ role: "user", content: "hi" }, "human"],
    [{ role: "assistant", content: "hi" }, "ai"],
    [{ type: "AIMessageChunk", content: "hi" }, "ai"],
    [
      {
        lc: 1,
        type: "constructor",
        id: ["langchain_core", "messages", "AIMessage"],
        kwargs: { content: "hi" },
      },
      "ai",
    ],
    [{ type: "human", data: { content: "hi" } }, "human"],
    [{ type: "developer", content: "hi" }, "system"],
  ])("%j", (stored, role) => {
    expect(messageOf(stored)).toMatchObject({ role, parts: [{ kind: "text", text: "hi" }] });
  });

  it("parts: texts, reasoning, pictures, and what is not known as JSON", () => {
    const content = [
      { type: "thinking", thinking: "hm" },
      { type: "text", text: "hi" },
      { type: "tool_use", id: "1", name: "x", input: {} },
      { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
      { type: "image_url", image_url: "https://evil.test/a.png" },
      { type: "image", source: { type: "base64", data: "BBBB" } },
      { type: "odd", x: 1 },
    ];
    const { parts, calls } = messageOf({
      type: "ai",
      content,
      tool_calls: [{ id: "1", name: "x", args: {} }],
    });
    expect(parts).toEqual([
      { kind: "reasoning", text: "hm" },
      { kind: "text", text: "hi" },
      { kind: "image", base64: "AAAA" },
      { kind: "address", address: "https://evil.test/a.png" },
      { kind: "image", base64: "BBBB" },
      { kind: "json", value: { type: "odd", x: 1 } },
    ]);
    expect(calls).toHaveLength(1);
  });

  it("calls in the form of OpenAI, and calls that cannot be read", () => {
    const openai = { id: "1", function: { name: "x", arguments: '{"a": 1}' } };
    expect(
      messageOf({ type: "ai", content: "", additional_kwargs: { tool_calls: [openai] } }).calls,
    ).toEqual([{ id: "1", name: "x", args: { a: 1 } }]);
    const broken = { id: "2", name: "y", args: "{", error: "no JSON" };
    expect(messageOf({ type: "ai", content: "", invalid_tool_calls: [broken] }).calls).toEqual([
      { id: "2", name: "y", args: "{", error: "no JSON" },
    ]);
  });

  it.each([
    null,
    1,
    "text",
    [],
    { content: { a: 1 } },
    { type: 5, content: null },
    { tool_calls: "no" },
  ])("%j is no reason to fail", (stored) => {
    expect(messageOf(stored).raw).toEqual(stored);
  });
});

describe("channels by their shape", () => {
  it("messages and todos of a channel of another name", () => {
    const values = {
      talk: [{ type: "human", content: "hi" }],
      plan: [{ content: "sail", status: "pending" }],
      files: "no files",
    };
    expect(messagesOf(values)).toEqual(values.talk);
    expect(todosOf(values)?.entries).toEqual(values.plan);
    expect(filesOf(values)).toBeUndefined();
  });

  it("files as lines, as text and as something else", () => {
    const files = { "/a": { content: ["x", "y"] }, "/b": "z", "/c": { content: { odd: 1 } } };
    expect(filesOf({ files })?.entries.map(({ text }) => text)).toEqual(["x\ny", "z", undefined]);
  });
});
