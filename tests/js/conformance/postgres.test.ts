/** The published checkpointer suite, every case, with the opt-in cases of delta channels. */

import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import { newSaver } from "../support/savers.js";

const initializer = {
  checkpointerName: "ThreadkeepSaver on postgres",
  // Its cases count what a list without a thread finds, so each saver is a tenant of its own.
  createCheckpointer: () => newSaver("postgres"),
};

validate(initializer);
deltaChannelHistoryTests(initializer);
