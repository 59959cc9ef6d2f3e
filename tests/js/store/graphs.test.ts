/** Graphs of LangGraph.js whose nodes use the store, and what each of two users reaches. */

import {
  Annotation,
  getStore,
  type LangGraphRunnableConfig,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { ThreadkeepStore } from "threadkeep/langgraph";
import { beforeEach, describe, expect, inject, it } from "vitest";
import { newKey } from "../support/server.js";
import { ENGINES } from "../support/servers.js";
import { keysOf } from "../support/stores.js";

const State = Annotation.Root({
  text: Annotation<string>,
  seen: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});
type Given = typeof State.State;

function namespaceOf(config: LangGraphRunnableConfig): string[] {
  return [String(config.configurable?.["user"]), "memories"];
}

async function remember({ text }: Given, config: LangGraphRunnableConfig) {
  const store = config.store ?? getStore();
  const bytes = new TextEncoder().encode(text);
  await store?.put(namespaceOf(config), text, { text, bytes, at: new Date(0) });
  return {};
}

async function recall(_: Given, config: LangGraphRunnableConfig) {
  const found = (await getStore()?.search(namespaceOf(config), { limit: 50 })) ?? [];
  return { seen: found.map((it) => new TextDecoder().decode(it.value["bytes"])) };
}

/** Several nodes of one step use the store at once. */
function graphOf(store: ThreadkeepStore) {
  const others = ["one", "two", "three"];
  const graph = new StateGraph(State).addNode("remember", remember).addNode("recall", recall);
  for (const name of others) {
    graph.addNode(name, async (_: Given, config: LangGraphRunnableConfig) => {
      const mine = [...namespaceOf(config), name];
      await config.store?.put(mine, "k", { name });
      const item = await config.store?.get(mine, "k");
      await config.store?.delete(mine, "k");
      return { seen: [`${name} ${item?.value["name"]} ${item?.createdAt instanceof Date}`] };
    });
    graph.addEdge("remember" as never, name as never).addEdge(name as never, "recall" as never);
  }
  return graph.addEdge(START, "remember").compile({ store });
}

describe.each(ENGINES)("on %s", (engine) => {
  let store: ThreadkeepStore;
  let requests: number;

  beforeEach(async () => {
    requests = 0;
    const place = inject("servers")[engine];
    store = new ThreadkeepStore({
      url: place.url,
      apiKey: await newKey(place),
      fetch: (input, init) => {
        requests += 1;
        return fetch(input, init);
      },
    });
  });

  it("nodes put, get, search and delete", async () => {
    const { seen } = await graphOf(store).invoke(
      { text: "tea" },
      { configurable: { user: "ann" } },
    );
    expect(seen.slice(0, 3).sort()).toEqual(["one one true", "three three true", "two two true"]);
    expect(seen.at(-1)).toBe("tea");
    expect(requests).toBeLessThan(9);
    expect(keysOf(await store.search([]))).toEqual(["tea"]);
  });

  it("what one user remembers, the other does not see", async () => {
    const graph = graphOf(store);
    const runs = ["ann", "bob"].flatMap((user) =>
      ["tea", "sugar"].map((what) =>
        graph.invoke({ text: `${user} likes ${what}` }, { configurable: { user } }),
      ),
    );
    await Promise.all(runs);
    for (const user of ["ann", "bob"]) {
      const { seen } = await graph.invoke(
        { text: `${user} likes tea` },
        { configurable: { user } },
      );
      expect(seen.slice(3).sort()).toEqual([`${user} likes sugar`, `${user} likes tea`]);
    }
  });

  it("a token reaches its own user and nobody else, whatever a node asks for", async () => {
    const place = inject("servers")[engine];
    const apiKey = await newKey(place);
    const { token } = await mint(place.url, apiKey, "ann");
    const all = new ThreadkeepStore({ url: place.url, apiKey });
    await all.put(["bob", "memories"], "secret", { text: "bob's" });
    const anns = new ThreadkeepStore({ url: place.url, apiKey: token });
    const graph = graphOf(anns);
    await graph.invoke({ text: "tea" }, { configurable: { user: "ann" } });
    await expect(
      graph.invoke({ text: "tea" }, { configurable: { user: "bob" } }),
    ).rejects.toMatchObject({ code: "not_granted", status: 403 });
    expect(await anns.get(["bob", "memories"], "secret")).toBeNull();
    expect(keysOf(await anns.search([]))).toEqual(["tea"]);
    expect(await anns.listNamespaces()).toEqual([["ann", "memories"]]);
    expect(await anns.count(["bob"])).toBe(0);
    await expect(anns.delete(["bob", "memories"], "secret")).rejects.toMatchObject({
      code: "not_granted",
    });
    expect((await all.get(["bob", "memories"], "secret"))?.value).toEqual({ text: "bob's" });
  });
});

async function mint(url: string, apiKey: string, subject: string): Promise<{ token: string }> {
  const answer = await fetch(`${url}/v1/tokens`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ subject }),
  });
  return (await answer.json()) as { token: string };
}
