/** Compares the states that LangGraph's SDK reads from the server with the states that LangGraph.js' graphs return. */

import { ThreadkeepSaver } from "threadkeep/langgraph";
import { describe, expect, inject, it } from "vitest";
import { SCENARIOS } from "../equivalence/scenarios.js";
import { newKey } from "../support/server.js";
import { WireDriver } from "./wire_driver.js";

describe.each(["sqlite", "postgres"] as const)("on %s", (engine) => {
  it.each(SCENARIOS)("%s: told as the graph tells it", async (_, scenario) => {
    const place = inject("servers")[engine];
    const key = await newKey(place);
    const saver = new ThreadkeepSaver({ url: place.url, apiKey: key });
    const driver = new WireDriver(saver, place.url, key);
    await scenario(driver);
    expect(driver.compared).toBeGreaterThanOrEqual(5);
  });
});
