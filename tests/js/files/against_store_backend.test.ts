/**
 * Random operations: every answer is that of deepagents' StoreBackend over InMemoryStore, texts of errors too. What differs on
 * purpose is in `differences.test.ts`.
 */

import { InMemoryStore } from "@langchain/langgraph-checkpoint";
import { StoreBackend } from "deepagents";
import fc from "fast-check";
import { ThreadkeepStore } from "threadkeep/langgraph";
import { describe, expect, it } from "vitest";
import { backendOf, newAccess } from "../support/files.js";
import { ENGINES } from "../support/servers.js";
import { everything, operations, type Whole } from "./operations.js";

describe.each(ENGINES)("on %s", (engine) => {
  it("every answer is that of the reference", async () => {
    const access = await newAccess(engine);
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(operations, async (all) => {
        runs += 1;
        const namespace = [`run-${runs}`, "filesystem"];
        const ours = backendOf(access, { namespace });
        const reference: Whole = new StoreBackend({ store: new InMemoryStore(), namespace });
        for (const { name, run } of all) {
          const theirs = structuredClone(await run(reference));
          expect(await run(ours), name).toEqual(theirs);
        }
        expect(await everything(ours)).toEqual(await everything(reference));
      }),
      { numRuns: 100 },
    );
  });

  it("StoreBackend over the store and our backend in turn are one", async () => {
    const access = await newAccess(engine);
    const store = new ThreadkeepStore(access);
    let runs = 0;
    await fc.assert(
      fc.asyncProperty(operations, fc.infiniteStream(fc.boolean()), async (all, turns) => {
        runs += 1;
        const namespace = [`run-${runs}`, "filesystem"];
        const ours = backendOf(access, { namespace });
        const overOurs: Whole = new StoreBackend({ store, namespace });
        const reference: Whole = new StoreBackend({ store: new InMemoryStore(), namespace });
        for (const { name, run } of all) {
          const theirs = structuredClone(await run(reference));
          const isOurs = turns.next().value;
          const said = await run(isOurs ? ours : overOurs);
          expect(said, `${isOurs ? "ours" : "StoreBackend"}: ${name}`).toEqual(theirs);
        }
        const held = await everything(reference);
        expect(await everything(ours)).toEqual(held);
        expect(await everything(overOurs)).toEqual(held);
      }),
      { numRuns: 50 },
    );
  });
});
