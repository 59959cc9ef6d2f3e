/** What `GET /v1/state` tells of real graphs of LangGraph.js, against what the graphs tell themselves. */

import { ThreadkeepSaver } from "threadkeep/langgraph";
import { describe, expect, inject, it } from "vitest";
import { SCENARIOS } from "../equivalence/scenarios.js";
import { newKey } from "../support/server.js";
import { ShownDriver } from "./shown_driver.js";

describe.each(["sqlite", "postgres"] as const)("on %s", (engine) => {
  it.each(SCENARIOS)("%s: told as the graph tells it", async (_, scenario) => {
    const place = inject("servers")[engine];
    const key = await newKey(place);
    const saver = new ThreadkeepSaver({ url: place.url, apiKey: key });
    const driver = new ShownDriver(saver, place.url, key);
    await scenario(driver);
    expect(driver.compared).toBeGreaterThanOrEqual(5);
  });
});
