/** The contracts of session stores, held by ours on both engines, and by the SDK's own as far as it holds them. */

import { foldSessionSummary, InMemorySessionStore } from "@anthropic-ai/claude-agent-sdk";
import { describe } from "vitest";
import { ENGINES } from "../support/servers.js";
import { newSessionStore } from "../support/sessions.js";
import { sessionStoreContracts } from "./contracts.js";

describe.each(ENGINES)("on %s", (engine) => {
  sessionStoreContracts(async () => {
    return required(await newSessionStore(engine, { foldSummary: foldSessionSummary }));
  });
});

describe("in the SDK's memory", () => {
  // It does not tell a transcript that is empty from one that never was.
  sessionStoreContracts(() => new InMemorySessionStore(), { emptyIsNull: false });
});

function required<T extends object>(store: T): Required<T> {
  return store as Required<T>;
}
