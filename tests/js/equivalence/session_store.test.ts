/** Each scenario on a checkpointer over the Claude Agent SDK's own store in memory: as on MemorySaver, word for word. */

import { InMemorySessionStore } from "@anthropic-ai/claude-agent-sdk";
import { MemorySaver } from "@langchain/langgraph";
import { sessionStoreCheckpointer } from "threadkeep/computeragent";
import { describe, expect, it } from "vitest";
import { Driver, firstDifference } from "./driver.js";
import { SCENARIOS } from "./scenarios.js";

describe("on a session store", () => {
  it.each(SCENARIOS)("%s: as in memory", async (_, scenario) => {
    const saver = sessionStoreCheckpointer(new InMemorySessionStore(), { sessionId: "s" });
    const [expected, found] = [new Driver(new MemorySaver()), new Driver(saver)];
    await scenario(expected);
    await scenario(found);
    expect(firstDifference(expected.transcript, found.transcript)).toBeUndefined();
  });
});
