/** The published checkpointer suite on a checkpointer whose state is in a session store: the one that the Claude Agent SDK has. */

import { InMemorySessionStore } from "@anthropic-ai/claude-agent-sdk";
import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import { sessionStoreCheckpointer } from "threadkeep/computeragent";

const initializer = {
  checkpointerName: "SessionStoreSaver",
  createCheckpointer: () => {
    return sessionStoreCheckpointer(new InMemorySessionStore(), { sessionId: "s" });
  },
};

validate(initializer);
deltaChannelHistoryTests(initializer);
