/** Compares the states that LangGraph's SDK reads from the server with the states that LangGraph.js' graphs return. */

import { Client } from "@langchain/langgraph-sdk";
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

  it("keeps items as the SDK knows them", async () => {
    const place = inject("servers")[engine];
    const { store } = new Client({ apiUrl: place.url, apiKey: await newKey(place) });
    await store.putItem(["ann", "memories"], "likes", { text: "tea" });
    expect((await store.getItem(["ann", "memories"], "likes"))?.value).toEqual({ text: "tea" });
    expect(await store.getItem(["ann"], "other")).toBeNull();
    const { items } = await store.searchItems(["ann"], { limit: 5 });
    expect(items.map((it) => it.key)).toEqual(["likes"]);
    expect(await store.listNamespaces({ prefix: ["ann"] })).toEqual({
      namespaces: [["ann", "memories"]],
    });
    await store.deleteItem(["ann", "memories"], "likes");
    expect(await store.getItem(["ann", "memories"], "likes")).toBeNull();
  });

  it("reaches threads whose ids no path can have below /uuid", async () => {
    const place = inject("servers")[engine];
    const key = await newKey(place);
    const byId = new Client({ apiUrl: place.url, apiKey: key });
    const byUuid = new Client({ apiUrl: `${place.url}/uuid`, apiKey: key });
    const ids = Array.from(
      { length: 100 },
      (_, at) => `${["a/b", "..", "x?y", "#%41"][at % 4]}/${at}`,
    );
    for (const threadId of ids) await byId.threads.create({ threadId, metadata: { threadId } });
    const found = await byUuid.threads.search({
      limit: 1000,
      sortBy: "created_at",
      sortOrder: "asc",
    });
    expect(found.map((it) => it.metadata?.["threadId"])).toEqual(ids);
    for (const { thread_id } of found) {
      expect(thread_id).toMatch(
        /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      );
      expect((await byUuid.threads.get(thread_id)).thread_id).toBe(thread_id);
      expect((await byUuid.threads.getState(thread_id)).checkpoint).toBeNull();
    }
    expect((await byId.threads.get(found[7]?.thread_id ?? "")).thread_id).toBe(ids[7]);
  });

  it("refuses a run with one request and the reason", async () => {
    const place = inject("servers")[engine];
    let asked = 0;
    const counting: typeof fetch = (...call) => {
      asked += 1;
      return fetch(...call);
    };
    const client = new Client({
      apiUrl: place.url,
      apiKey: await newKey(place),
      callerOptions: { fetch: counting },
    });
    await expect(client.runs.wait(null, "agent")).rejects.toThrow("ThreadkeepSaver");
    expect(asked).toBe(1);
  });
});
