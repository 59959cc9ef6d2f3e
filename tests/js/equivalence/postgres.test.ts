/** Each scenario on both savers: the transcripts must be equal, word for word. */

import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { newSaver } from "../support/savers.js";
import { Driver, firstDifference } from "./driver.js";
import { SCENARIOS } from "./scenarios.js";

describe("on postgres", () => {
  it.each(SCENARIOS)("%s: as in memory", async (_, scenario) => {
    const [expected, found] = [
      new Driver(new MemorySaver()),
      new Driver(await newSaver("postgres")),
    ];
    await scenario(expected);
    await scenario(found);
    expect(firstDifference(expected.transcript, found.transcript)).toBeUndefined();
  });
});
