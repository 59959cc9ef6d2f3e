/** What events make of a checkpoint. */

import { describe, expect, it } from "vitest";
import { emptySnapshot, recoveredState } from "../src/agentrail/index.js";
import type { OrchestrationEvent } from "../src/agentrail/orchestration_contract.js";

let clock = 0;
type Unplaced = OrchestrationEvent extends infer E
  ? E extends OrchestrationEvent
    ? Omit<E, "eventId" | "occurredAt" | "runId">
    : never
  : never;

function event(more: Unplaced & { runId?: string }): OrchestrationEvent {
  clock += 1;
  const occurredAt = new Date(1_800_000_000_000 + clock).toISOString();
  return { eventId: `e${clock}`, occurredAt, runId: "r", ...more } as OrchestrationEvent;
}

const begun = () => {
  return event({ type: "run_started", initialTask: { id: "t", kind: "k", input: { a: 1 } } });
};
const spawned = (id: string) => {
  return event({ type: "agent_spawned", agent: { id, runId: "r", role: "worker" } });
};
const waiting = (id: string) => {
  const wait = { id, agentId: "a", kind: "agent", description: "d", match: "all" as const };
  return event({ type: "wait_registered", wait });
};

/** One of each, in an order that happens. */
function story(): OrchestrationEvent[] {
  const job = { jobId: "j", inputIds: ["i"], outcome: "completed" as const, outputText: "done" };
  return [
    begun(),
    spawned("a"),
    event({ type: "agent_input_queued", input: { id: "i", agentId: "a", payload: { x: 1 } } }),
    event({ type: "agent_input_queued", input: { id: "i2", agentId: "a", payload: {} } }),
    event({ type: "agent_job_started", agentId: "a", jobId: "j", inputIds: ["i"] }),
    event({ type: "agent_input_removed", inputId: "i", agentId: "a", reason: "delivered" }),
    event({ type: "agent_status_changed", agentId: "a", status: "running" }),
    waiting("w1"),
    waiting("w2"),
    event({ type: "wait_resolved", waitId: "w1", resolution: { ok: true } }),
    event({ type: "agent_job_completed", agentId: "a", job }),
  ];
}

describe("events", () => {
  it("make the state, each its part", () => {
    const events = story();
    const at = (index: number) => events[index]?.occurredAt;
    const { snapshot, pendingWaits, activeAgents } = recoveredState(null, events);
    expect(snapshot.runs).toEqual({
      r: { id: "r", status: "running", initialTaskId: "t", createdAt: at(0), updatedAt: at(0) },
    });
    expect(snapshot.tasks).toEqual({
      t: { id: "t", runId: "r", kind: "k", input: { a: 1 }, createdAt: at(0) },
    });
    expect(snapshot.agents["a"]).toEqual({
      id: "a",
      runId: "r",
      taskId: "t",
      role: "worker",
      status: "running",
      createdAt: at(1),
      updatedAt: at(10),
      lastJob: {
        jobId: "j",
        inputIds: ["i"],
        outcome: "completed",
        outputText: "done",
        completedAt: at(10),
      },
    });
    expect(snapshot.queuedInputs).toEqual([
      { id: "i2", agentId: "a", payload: {}, queuedAt: at(3) },
    ]);
    expect(snapshot.waits["w1"]).toMatchObject({
      status: "resolved",
      resolvedAt: at(9),
      resolution: { ok: true },
    });
    expect(pendingWaits.map((it) => it.id)).toEqual(["w2"]);
    expect(pendingWaits[0]).toMatchObject({ match: "all", registeredAt: at(8), runId: "r" });
    expect(activeAgents.map((it) => it.id)).toEqual(["a"]);
    expect(snapshot.lastEventId).toBe(events.at(-1)?.eventId);
  });

  it("of an end leave nothing pending, unless another run goes on", () => {
    const events = [...story(), event({ type: "run_completed", status: "failed", error: "no" })];
    const ended = recoveredState(null, events);
    expect(ended.snapshot.runs["r"]).toMatchObject({ status: "failed" });
    expect(ended.snapshot.runs["r"]?.completedAt).toBe(events.at(-1)?.occurredAt);
    expect(ended).toMatchObject({ pendingWaits: [], activeAgents: [] });
    const again = event({
      type: "run_started",
      runId: "r2",
      initialTask: { id: "t2", kind: "k", input: {} },
    });
    expect(recoveredState(null, [...events, again]).pendingWaits).toHaveLength(1);
  });

  it("of a closed agent take it from the active ones", () => {
    const close = event({ type: "agent_closed", close: { id: "c", agentId: "a" } });
    const { snapshot, activeAgents } = recoveredState(null, [...story(), close]);
    expect(activeAgents).toEqual([]);
    expect(snapshot.agents["a"]).toMatchObject({ status: "closed", closedAt: close.occurredAt });
  });

  it("about what does not exist change nothing", () => {
    const events = [
      event({ type: "agent_status_changed", agentId: "no", status: "running" }),
      event({ type: "wait_resolved", waitId: "constructor" }),
      event({ type: "run_completed", status: "completed" }),
    ];
    const { snapshot } = recoveredState(null, events);
    expect(snapshot).toEqual({ ...emptySnapshot(), lastEventId: events[2]?.eventId });
    expect(Object).not.toHaveProperty("resolvedAt");
  });

  it("of agents with any id are kept", () => {
    const { activeAgents } = recoveredState(null, [spawned("__proto__")]);
    expect(activeAgents.map((it) => it.id)).toEqual(["__proto__"]);
    expect(activeAgents[0]?.taskId).toBe("__proto__");
  });

  it("of an unknown kind are an error, not a loss", () => {
    const odd = { ...begun(), type: "of_a_later_agentrail" } as never;
    expect(() => recoveredState(null, [odd])).toThrow(/unknown kind/);
  });
});

describe("a checkpoint", () => {
  it("is empty when there is nothing", () => {
    const empty = { snapshot: emptySnapshot(), pendingWaits: [], activeAgents: [] };
    expect(recoveredState(null, [])).toEqual(empty);
  });

  it("is gone on from, whichever event it was made after", () => {
    const events = story();
    const whole = recoveredState(null, events);
    for (let at = 0; at < events.length; at += 1) {
      const { snapshot } = recoveredState(null, events.slice(0, at + 1));
      const before = structuredClone(snapshot);
      expect(recoveredState(snapshot, events)).toEqual(whole);
      expect(snapshot).toEqual(before);
    }
  });

  it("counts as it is without a log", () => {
    const { snapshot } = recoveredState(null, story());
    expect(recoveredState(snapshot, []).snapshot).toEqual(snapshot);
  });

  it("of events that the log does not have is ignored", () => {
    const stale = { ...recoveredState(null, story()).snapshot, lastEventId: "elsewhere" };
    const events = [begun(), spawned("b")];
    const { snapshot } = recoveredState(stale, events);
    expect(Object.keys(snapshot.agents)).toEqual(["b"]);
  });

  it("without a last event has all events behind it", () => {
    const checkpoint = { ...emptySnapshot(), tasks: {} };
    const { snapshot } = recoveredState(checkpoint, [begun()]);
    expect(Object.keys(snapshot.runs)).toEqual(["r"]);
  });
});
