/** What Agentrail's Inspector reads, from a threadkeep server. */

import { Connection } from "../http/connection.js";
import { type ConnectionOptions, settingsOf } from "../http/settings.js";
import { AgentrailCalls, entriesOf, sessionPath } from "./calls.js";
import type { InspectorSession, Message, TraceEnvelope } from "./contract.js";
import { orchestrationOf } from "./orchestration.js";
import type {
  InspectorDataSource,
  OrchestrationPersistence,
  RecoveredOrchestrationState,
} from "./orchestration_contract.js";
import { recoveredState } from "./recovery.js";
import { sessionRefOf } from "./session_ref.js";

/** Reads; methods are bound. */
export class ThreadkeepInspectorDataSource implements InspectorDataSource {
  readonly #calls: AgentrailCalls;

  constructor(options: ConnectionOptions = {}) {
    this.#calls = new AgentrailCalls(new Connection(settingsOf(options)));
  }

  /** Newest first, of all of Agentrail's tenants. */
  readonly listSessions = async (): Promise<InspectorSession[]> => {
    return entriesOf(await this.#calls.get("/__inspector/sessions"), "sessions");
  };

  readonly loadMessages = async (tenantId: string, sessionId: string): Promise<Message[]> => {
    const found = await this.#calls.find(sessionPath({ tenantId, sessionId }, "messages"));
    return found ? entriesOf(found, "messages") : [];
  };

  readonly loadTraceEnvelopes = async (
    tenantId: string,
    sessionId: string,
  ): Promise<TraceEnvelope[]> => {
    const found = await this.#calls.find(sessionPath({ tenantId, sessionId }, "trace"));
    return found ? entriesOf(found, "envelopes") : [];
  };

  /** Null when there are neither events nor a checkpoint. */
  readonly loadOrchestrationState = async (
    tenantId: string,
    sessionId: string,
  ): Promise<RecoveredOrchestrationState | null> => {
    const orchestration = this.#orchestration(tenantId, sessionId);
    const [snapshot, events] = await Promise.all([
      orchestration.loadSnapshot(),
      orchestration.loadEvents(),
    ]);
    return snapshot || events.length > 0 ? recoveredState(snapshot, events) : null;
  };

  readonly loadOrchestrationEvents = (tenantId: string, sessionId: string): Promise<unknown[]> => {
    return this.#orchestration(tenantId, sessionId).loadEvents();
  };

  #orchestration(tenantId: string, sessionId: string): OrchestrationPersistence {
    return orchestrationOf(this.#calls, sessionRefOf({ tenantId, sessionId }));
  }
}
