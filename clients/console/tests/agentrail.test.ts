/** Sessions of Agentrail: where their things are, their events, their messages, and the state of an orchestration. */

import type { NamedDocument, SessionEntry, SessionStream } from "threadkeep";
import { expect, it } from "vitest";
import { rowsOf } from "../src/content/transcript.js";
import {
  orchestrationOf,
  placesOf,
  reachesBack,
  tracedEvent,
} from "../src/nouns/sessions/agentrail.js";

const stream = (name: string) => ({ stream: name, head: 1, updatedAtMs: 0 }) as SessionStream;
const documentOf = (name: string) => ({ name, size: 1, version: 1 }) as NamedDocument;
const STARTED = {
  ...{ eventId: "e1", type: "run_started", occurredAt: "2026-01-01T00:00:00Z", runId: "r1" },
  initialTask: { id: "t1", kind: "chat", input: { text: "Sail" } },
};
const SPAWNED = {
  ...{ eventId: "e2", type: "agent_spawned", occurredAt: "2026-01-01T00:00:01Z", runId: "r1" },
  agent: { id: "a1", runId: "r1", role: "worker", displayName: "Skipper" },
};
const WAITS = {
  ...{ eventId: "e3", type: "wait_registered", occurredAt: "2026-01-01T00:00:02Z", runId: "r1" },
  wait: { id: "w1", agentId: "a1", kind: "input", description: "wind" },
};

it("places are those that the session has", () => {
  expect(placesOf([], [])).toEqual([]);
  const titles = (streams: string[], documents: string[]) =>
    placesOf(streams.map(stream), documents.map(documentOf)).map(({ title }) => title);
  expect(titles(["trace", "messages", "other"], ["memo/TODO.md"])).toEqual([
    "Messages",
    "Trace",
    "Todos",
  ]);
  expect(titles(["orch/events"], [])).toEqual(["Orchestration"]);
  expect(titles([], ["orch/snapshot"])).toEqual(["Orchestration"]);
});

it("an event is read with its envelope and without one", () => {
  const envelope = { id: "x", source: "runtime", timestamp: "2026-01-01T00:00:00Z" };
  const event = { type: "turn.start", n: 1 };
  expect(tracedEvent({ ...envelope, event })).toEqual({
    kind: "turn.start",
    source: "runtime",
    at: "2026-01-01T00:00:00Z",
    event,
  });
  expect(tracedEvent(STARTED)).toMatchObject({ kind: "run_started", at: STARTED.occurredAt });
  for (const other of [null, 5, [], {}, { type: 5 }, { event: { type: 5 } }]) {
    expect(tracedEvent(other)).toBeUndefined();
  }
});

it("a state is the checkpoint and the events behind it", () => {
  const checkpoint = { runs: {}, agents: {}, lastEventId: "e1" };
  expect(reachesBack(checkpoint, [SPAWNED, WAITS])).toBe(false);
  expect(reachesBack(checkpoint, [STARTED, SPAWNED])).toBe(true);
  expect(reachesBack(undefined, [STARTED])).toBe(false);
  const state = orchestrationOf(undefined, [STARTED, SPAWNED, WAITS]);
  expect(state.runs).toEqual([
    {
      ...{ id: "r1", status: "running", startedAt: STARTED.occurredAt, endedAt: undefined },
      task: { kind: "chat", input: { text: "Sail" } },
    },
  ]);
  expect(state.agents).toMatchObject([{ id: "a1", name: "Skipper", status: "idle" }]);
  expect(state.waits).toMatchObject([{ agentId: "a1", what: "wind" }]);
  // The run began before the checkpoint, which has forgotten it.
  expect(orchestrationOf(checkpoint, [STARTED, SPAWNED])).toMatchObject({
    runs: [],
    agents: [{ id: "a1" }],
  });
});

it("what is no checkpoint shows nothing, and breaks nothing", () => {
  const hostile = JSON.parse(
    '{"runs": {"__proto__": {"status": 5}, "x": null}, "agents": {"a": {"lastJob": {"outcome": {}}}}, "waits": 5, "queuedInputs": "x"}',
  );
  expect(orchestrationOf(hostile, [])).toEqual({
    runs: [
      {
        ...{ id: "__proto__", status: "?", startedAt: undefined, endedAt: undefined },
        task: undefined,
      },
    ],
    agents: [expect.objectContaining({ id: "a", name: "a", role: "?", status: "?" })],
    waits: [],
    queuedInputs: [],
  });
  expect(orchestrationOf([], [5, null]).runs).toEqual([]);
  expect(() => orchestrationOf(undefined, [{ type: "other" }])).toThrow("unknown kind");
});

it("a call of Agentrail has its result under it", () => {
  const entries = [
    { role: "user", content: "List the boats", timestamp: 1 },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Hm" },
        { type: "toolCall", id: "c1", name: "ls", arguments: { path: "/" } },
      ],
      usage: { inputTokens: 5, outputTokens: 7 },
    },
    {
      ...{ role: "toolResult", toolCallId: "c1", toolName: "ls", isError: true },
      content: [{ type: "text", text: "sloop" }],
    },
  ].map((data, at) => ({ seq: at + 1, atMs: 0, data }) as SessionEntry);
  const rows = rowsOf(entries);
  expect(rows).toHaveLength(2);
  const shown = rows[1]?.shown;
  expect(shown?.message).toMatchObject({
    role: "ai",
    parts: [{ kind: "reasoning", text: "Hm" }],
    usage: { input: 5, output: 7 },
  });
  expect(shown?.calls).toMatchObject([
    { name: "ls", args: { path: "/" }, result: { isError: true, name: "ls" } },
  ]);
});
