/** Orchestrations of sessions: events and checkpoints, mailboxes and histories of agents. */

import { Connection } from "../http/connection.js";
import { type ConnectionOptions, settingsOf } from "../http/settings.js";
import { segmentOf } from "../wire/ids.js";
import { AgentrailCalls, entriesOf, sessionPath } from "./calls.js";
import type {
  MailboxEvent,
  MailboxState,
  OrchestrationEvent,
  OrchestrationPersistence,
  OrchestrationSnapshot,
} from "./orchestration_contract.js";
import { recoveredState } from "./recovery.js";
import { placeOf } from "./session_ref.js";

/** Makes the persistence of a session, as Agentrail's factory of that name. */
export function createOrchestrationPersistence(
  sessionRef: string,
  options: ConnectionOptions = {},
): OrchestrationPersistence {
  return orchestrationOf(new AgentrailCalls(new Connection(settingsOf(options))), sessionRef);
}

/** The same for any number of sessions over one connection. */
export function createOrchestrationPersistenceFactory(
  options: ConnectionOptions = {},
): (sessionRef: string) => OrchestrationPersistence {
  const calls = new AgentrailCalls(new Connection(settingsOf(options)));
  return (sessionRef) => orchestrationOf(calls, sessionRef);
}

/** Every write is awaited by Agentrail: it has happened when its promise is kept, and its failure reaches the agent. */
export function orchestrationOf(
  calls: AgentrailCalls,
  sessionRef: string,
): OrchestrationPersistence {
  const place = placeOf(sessionRef);
  const path = (...more: string[]) => sessionPath(place, "orch", ...more);
  const agentPath = (agentId: string, what: string) => {
    return path("agents", segmentOf(agentId, "agentId"), what);
  };
  const loadEvents = async (): Promise<OrchestrationEvent[]> => {
    return entriesOf(await calls.get(path("events")), "events");
  };
  const loadSnapshot = async (): Promise<OrchestrationSnapshot | null> => {
    const found = await calls.find(path("snapshot"));
    return (found?.["snapshot"] ?? null) as OrchestrationSnapshot | null;
  };
  return {
    // The server leaves out an event whose eventId it has, so a repetition is none.
    appendEvent: async (event) => {
      await calls.send(path("events"), { events: [event] });
    },
    loadEvents,
    loadSnapshot,
    writeCheckpoint: async (snapshot) => {
      await calls.send(path("snapshot"), { snapshot }, { method: "PUT" });
    },
    recoverState: async () => {
      const [snapshot, events] = await Promise.all([loadSnapshot(), loadEvents()]);
      return recoveredState(snapshot, events);
    },
    appendMailboxEvent: async (agentId, event) => {
      await calls.send(agentPath(agentId, "mailbox"), { events: [event] });
    },
    loadMailboxEvents: async (agentId) => {
      return entriesOf<MailboxEvent>(await calls.get(agentPath(agentId, "mailbox")), "events");
    },
    loadMailboxState: async (agentId) => {
      const found = await calls.find(agentPath(agentId, "mailbox-state"));
      const none: MailboxState = { processedEventCount: 0, closeRequested: null };
      return (found?.["state"] as MailboxState | null | undefined) ?? none;
    },
    writeMailboxState: async (agentId, state) => {
      await calls.send(agentPath(agentId, "mailbox-state"), { state }, { method: "PUT" });
    },
    loadAgentHistory: async (agentId) => {
      const found = await calls.find(agentPath(agentId, "history"));
      return (found?.["history"] as unknown[] | null | undefined) ?? [];
    },
    writeAgentHistory: async (agentId, history) => {
      await calls.send(agentPath(agentId, "history"), { history }, { method: "PUT" });
    },
  };
}
