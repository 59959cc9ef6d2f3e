/** The suites, the package under test and the peers themselves take the same peers: the versions that this run is meant to try. */

import { readFileSync } from "node:fs";
import { InMemoryStore as GraphsStore } from "@langchain/langgraph";
import { BaseCheckpointSaver, BaseStore, InMemoryStore } from "@langchain/langgraph-checkpoint";
import { ThreadkeepSaver, ThreadkeepStore } from "threadkeep/langgraph";
import { expect, it } from "vitest";
import { HERE, packageFolder, versionOf } from "../support/peers.js";
import { PEERS, ROOT } from "../support/settings.js";

const NAMES = [
  "@langchain/langgraph",
  "@langchain/langgraph-checkpoint",
  "@langchain/core",
  "langchain",
  "deepagents",
  "@anthropic-ai/claude-agent-sdk",
];

function expectedVersions(): Record<string, string> {
  if (PEERS !== undefined) return JSON.parse(PEERS);
  const { packages } = JSON.parse(readFileSync(`${ROOT}package-lock.json`, "utf8"));
  return Object.fromEntries(NAMES.map((name) => [name, packages[`node_modules/${name}`].version]));
}

it("runs with the peers that this run is meant to try", () => {
  const versions = Object.fromEntries(NAMES.map((name) => [name, versionOf(name)]));
  expect(versions).toEqual(expectedVersions());
});

it("finds the same peers from the package and from each peer as from the suites", () => {
  const others = ["threadkeep", "@langchain/langgraph-checkpoint-validation", ...NAMES];
  for (const name of NAMES)
    for (const other of others) {
      const seen = packageFolder(name, packageFolder(other, HERE));
      expect([other, seen]).toEqual([other, packageFolder(name, HERE)]);
    }
});

it("extends the classes that the suites import", () => {
  expect(ThreadkeepSaver.prototype).toBeInstanceOf(BaseCheckpointSaver);
  expect(ThreadkeepStore.prototype).toBeInstanceOf(BaseStore);
  expect(GraphsStore).toBe(InMemoryStore);
});
