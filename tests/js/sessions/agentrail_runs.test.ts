/** Agentrail's traces, orchestrations and Inspector: order, doubles, crashes, and what is there when nothing is. */

import { randomUUID } from "node:crypto";
import {
  createOrchestrationPersistence,
  createTraceStoreFactory,
  emptySnapshot,
  type InspectorDataSource,
  type OrchestrationEvent,
  type OrchestrationPersistence,
  type SessionTraceStore,
  ThreadkeepAgentrailStore,
  ThreadkeepInspectorDataSource,
  type TraceEnvelope,
} from "threadkeep/agentrail";
import { beforeEach, describe, expect, inject, it } from "vitest";
import { CountingProxy } from "../support/proxy.js";
import { ENGINES } from "../support/servers.js";
import { newTenant } from "../support/sessions.js";
import { turns, USAGE } from "./agentrail_messages.js";

function envelope(sequence: number, more: Partial<TraceEnvelope> = {}): TraceEnvelope {
  return {
    id: randomUUID(),
    timestamp: new Date(1_800_000_000_000 + sequence).toISOString(),
    sequence,
    source: "runtime",
    event: { type: "turn.start", sequence, nul: "\0" },
    ...more,
  };
}

let clock = 0;
function event(more: object): OrchestrationEvent {
  clock += 1;
  const occurredAt = new Date(1_800_000_000_000 + clock).toISOString();
  return { eventId: randomUUID(), occurredAt, runId: "r", ...more } as OrchestrationEvent;
}

function started(): OrchestrationEvent {
  return event({ type: "run_started", initialTask: { id: "t", kind: "k", input: { a: "\0" } } });
}
function spawned(id: string): OrchestrationEvent {
  return event({ type: "agent_spawned", agent: { id, runId: "r", role: "worker" } });
}

describe.each(ENGINES)("on %s", (engine) => {
  let options: { url: string; apiKey: string };

  beforeEach(async () => {
    options = await newTenant(engine);
  });

  describe("a trace", () => {
    it("comes back in the order of the calls, though each request counts from 0", async () => {
      const traced: SessionTraceStore = createTraceStoreFactory(options)('["t","s"]');
      expect(await traced.loadEnvelopes()).toEqual([]);
      const sent = [0, 1, 2, 0, 1, 2, 0].map((sequence) => envelope(sequence));
      await Promise.all(sent.map((it) => traced.appendEnvelope(it)));
      expect(await traced.loadEnvelopes()).toEqual(sent);
    });

    it("has each envelope once", async () => {
      const traced = createTraceStoreFactory(options)("t:s");
      const [one, two] = [envelope(0), envelope(1)];
      for (const it of [one, two, one, { ...two, sequence: 9 }]) await traced.appendEnvelope(it);
      expect(await traced.loadEnvelopes()).toEqual([one, two]);
    });

    it("is that of its session", async () => {
      const factory = createTraceStoreFactory(options);
      const same = envelope(0);
      for (const ref of ['["t","a"]', "t:b", '["t2","a"]']) await factory(ref).appendEnvelope(same);
      expect(await factory("t:a").loadEnvelopes()).toEqual([same]);
      expect(await factory("t:none").loadEnvelopes()).toEqual([]);
    });

    it("of hundreds of calls at once arrives whole and in order, also with lost replies", async () => {
      const proxy = await CountingProxy.before(inject("servers")[engine].url);
      const traced = createTraceStoreFactory({ ...options, url: proxy.url })("t:s");
      const sent = Array.from({ length: 400 }, (_, at) => envelope(at));
      proxy.lose(2);
      await Promise.all(sent.map((it) => traced.appendEnvelope(it)));
      expect(proxy.lost).toBe(2);
      expect(await traced.loadEnvelopes()).toEqual(sent);
      await proxy.close();
    });
  });

  describe("an orchestration", () => {
    let orchestration: OrchestrationPersistence;

    beforeEach(() => {
      orchestration = createOrchestrationPersistence('["t","s"]', options);
    });

    it("that never was is empty", async () => {
      expect(await orchestration.loadEvents()).toEqual([]);
      expect(await orchestration.loadSnapshot()).toBeNull();
      expect(await orchestration.recoverState()).toEqual({
        snapshot: emptySnapshot(),
        pendingWaits: [],
        activeAgents: [],
      });
      expect(await orchestration.loadMailboxEvents("a")).toEqual([]);
      const none = { processedEventCount: 0, closeRequested: null };
      expect(await orchestration.loadMailboxState("a")).toEqual(none);
      expect(await orchestration.loadAgentHistory("a")).toEqual([]);
    });

    it("keeps its events in order, each once, and its latest checkpoint", async () => {
      const events = [started(), spawned("a"), spawned("b")];
      for (const it of events) await orchestration.appendEvent(it);
      await orchestration.appendEvent(events[1] as OrchestrationEvent);
      expect(await orchestration.loadEvents()).toEqual(events);
      await orchestration.writeCheckpoint({ ...emptySnapshot(), lastEventId: "one" });
      await orchestration.writeCheckpoint({ ...emptySnapshot(), lastEventId: "two" });
      expect(await orchestration.loadSnapshot()).toEqual({
        ...emptySnapshot(),
        lastEventId: "two",
      });
    });

    it("recovers from a crash between an event and its checkpoint", async () => {
      await orchestration.appendEvent(started());
      await orchestration.appendEvent(spawned("a"));
      await orchestration.writeCheckpoint((await orchestration.recoverState()).snapshot);
      const wait = { id: "w", agentId: "a", kind: "agent", description: "d" };
      await orchestration.appendEvent(event({ type: "wait_registered", wait }));
      // The process ends here: another one reads what there is.
      const next = createOrchestrationPersistence("t:s", options);
      const { snapshot, pendingWaits, activeAgents } = await next.recoverState();
      expect(pendingWaits.map((it) => it.id)).toEqual(["w"]);
      expect(activeAgents.map((it) => it.id)).toEqual(["a"]);
      expect(snapshot.lastEventId).toBe((await next.loadEvents()).at(-1)?.eventId);
      expect((await next.loadSnapshot())?.waits).toEqual({});
      await next.writeCheckpoint(snapshot);
      expect(await next.recoverState()).toEqual({ snapshot, pendingWaits, activeAgents });
    });

    it("ignores a checkpoint of events that its log does not have", async () => {
      await orchestration.writeCheckpoint({ ...emptySnapshot(), lastEventId: "elsewhere" });
      expect((await orchestration.recoverState()).snapshot.lastEventId).toBe("elsewhere");
      await orchestration.appendEvent(started());
      const { snapshot } = await orchestration.recoverState();
      expect(Object.keys(snapshot.runs)).toEqual(["r"]);
    });

    it("has a mailbox for each agent, whose order never changes", async () => {
      const mail = (agentId: string, at: number) => ({
        eventId: randomUUID(),
        type: "input_enqueued" as const,
        agentId,
        occurredAt: new Date(1_800_000_000_000 - at).toISOString(),
        inputId: `i${at}`,
        payload: { at },
      });
      const toA = Array.from({ length: 5 }, (_, at) => mail("a/1", at));
      for (const it of toA) await orchestration.appendMailboxEvent("a/1", it);
      await orchestration.appendMailboxEvent("a/1", toA[0] as (typeof toA)[number]);
      const toB = mail("b", 0);
      await orchestration.appendMailboxEvent("b", toB);
      expect(await orchestration.loadMailboxEvents("a/1")).toEqual(toA);
      expect(await orchestration.loadMailboxEvents("b")).toEqual([toB]);
      const closing = { reason: "done", occurredAt: toB.occurredAt };
      const state = { processedEventCount: 3, closeRequested: closing };
      await orchestration.writeMailboxState("a/1", {
        processedEventCount: 1,
        closeRequested: null,
      });
      await orchestration.writeMailboxState("a/1", state);
      expect(await orchestration.loadMailboxState("a/1")).toEqual(state);
      expect((await orchestration.loadMailboxState("b")).processedEventCount).toBe(0);
    });

    it("keeps the history of each agent", async () => {
      await orchestration.writeAgentHistory("a", turns(1));
      await orchestration.writeAgentHistory("a", turns(2));
      expect(await orchestration.loadAgentHistory("a")).toEqual(turns(2));
      await orchestration.writeAgentHistory("a", []);
      expect(await orchestration.loadAgentHistory("a")).toEqual([]);
      expect(await orchestration.loadAgentHistory("b")).toEqual([]);
    });

    it("is its session's alone, with any of the names", async () => {
      await orchestration.appendEvent(started());
      const same = createOrchestrationPersistence("t:s", options);
      expect(await same.loadEvents()).toHaveLength(1);
      for (const ref of ["t:s2", '["t2","s"]']) {
        expect(await createOrchestrationPersistence(ref, options).loadEvents()).toEqual([]);
      }
    });
  });

  describe("the Inspector", () => {
    let inspector: ThreadkeepInspectorDataSource;
    let store: ThreadkeepAgentrailStore;

    beforeEach(() => {
      inspector = new ThreadkeepInspectorDataSource(options);
      inspector satisfies InspectorDataSource;
      store = new ThreadkeepAgentrailStore(options);
    });

    it("sees nothing of an unknown session", async () => {
      expect(await inspector.listSessions()).toEqual([]);
      expect(await inspector.loadMessages("t", "no")).toEqual([]);
      expect(await inspector.loadTraceEnvelopes("t", "no")).toEqual([]);
      expect(await inspector.loadOrchestrationState("t", "no")).toBeNull();
      expect(await inspector.loadOrchestrationEvents("t", "no")).toEqual([]);
    });

    it("lists sessions, newest first, with turns and tokens where there are any", async () => {
      await store.getOrCreate("t", "ann", "x", "quiet");
      await store.getOrCreate("t2", "bob", "x", "busy");
      await store.appendMessages("t2", "busy", turns(1));
      await store.recordTurn("t2", "busy", { ...USAGE, totalTokens: 120 });
      const found = await inspector.listSessions();
      expect(found.map((it) => [it.tenantId, it.sessionId, it.userId])).toEqual([
        ["t2", "busy", "bob"],
        ["t", "quiet", "ann"],
      ]);
      expect(found[0]).toMatchObject({ turns: 1, tokens: 120 });
      expect(found[0]?.lastActive).toMatch(/^\d{4}-\d\d-\d\dT/);
      expect(found[1]?.turns).toBeUndefined();
      expect(found[1]?.tokens).toBeUndefined();
    });

    it("sees messages, traces and the recovered state", async () => {
      await store.appendMessages("t", "s", turns(1));
      const traced = createTraceStoreFactory(options)("t:s");
      const sent = [envelope(0), envelope(1)];
      for (const it of sent) await traced.appendEnvelope(it);
      const orchestration = createOrchestrationPersistence("t:s", options);
      const events = [started(), spawned("a")];
      for (const it of events) await orchestration.appendEvent(it);
      expect(await inspector.loadMessages("t", "s")).toEqual(turns(1));
      expect(await inspector.loadTraceEnvelopes("t", "s")).toEqual(sent);
      expect(await inspector.loadOrchestrationEvents("t", "s")).toEqual(events);
      const state = await inspector.loadOrchestrationState("t", "s");
      expect(state).toEqual(await orchestration.recoverState());
      expect(state?.activeAgents.map((it) => it.id)).toEqual(["a"]);
    });
  });
});
