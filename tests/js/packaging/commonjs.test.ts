/** The package in a CommonJS project, which is npm's default: `require` works, and the classes and types are LangGraph's own. */

import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, inject, it } from "vitest";
import { newKey } from "../support/server.js";
import { cleanEnvironment, ROOT } from "../support/settings.js";
import { installPacked, run } from "./project.js";

const folder = await installPacked("commonjs");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PROGRAM = `
const { BaseCheckpointSaver, BaseStore } = require("@langchain/langgraph-checkpoint");
const { Annotation, START, StateGraph } = require("@langchain/langgraph");
const { CompositeBackend } = require("deepagents");
const { Client, ThreadkeepError } = require("threadkeep");
const { threadkeepRoutes } = require("threadkeep/deepagents");
const { ThreadkeepSaver, ThreadkeepStore } = require("threadkeep/langgraph");
const { ThreadkeepSessionStore } = require("threadkeep/claude");
const { httpCheckpointer } = require("threadkeep/computeragent");
const { ThreadkeepAgentrailStore } = require("threadkeep/agentrail");

(async () => {
  const saver = new ThreadkeepSaver();
  const classes = [
    saver instanceof BaseCheckpointSaver,
    new ThreadkeepStore() instanceof BaseStore,
    threadkeepRoutes("ann") instanceof CompositeBackend,
    httpCheckpointer({}) instanceof ThreadkeepSaver,
  ];
  const graph = new StateGraph(Annotation.Root({ text: Annotation }))
    .addNode("node", ({ text }) => ({ text: text + "!" }))
    .addEdge(START, "node")
    .compile({ checkpointer: saver });
  const config = { configurable: { thread_id: "required" } };
  await graph.invoke({ text: "hello" }, config);
  const { values } = await new ThreadkeepSaver().getTuple(config).then((it) => ({ values: it.checkpoint.channel_values }));
  const refused = await new Client({ apiKey: "tk_no" }).whoami().catch((error) => error);
  const others = [ThreadkeepSessionStore, ThreadkeepAgentrailStore].map((it) => typeof it);
  const { name } = require("threadkeep/package.json");
  console.log(classes.join(), values.text, refused instanceof ThreadkeepError, others.join(), name);
})();
`;

const TYPED = `
import type { BaseCheckpointSaver, BaseStore } from "@langchain/langgraph-checkpoint";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { CompositeBackend, createDeepAgent } from "deepagents";
import { Client, type Thread } from "threadkeep";
import { threadkeepRoutes } from "threadkeep/deepagents";
import { ThreadkeepSaver, ThreadkeepStore } from "threadkeep/langgraph";
import { type SessionStore, ThreadkeepSessionStore } from "threadkeep/claude";
import { httpCheckpointer } from "threadkeep/computeragent";
import { ThreadkeepAgentrailStore } from "threadkeep/agentrail";

export const saver: BaseCheckpointSaver = new ThreadkeepSaver({ url: "http://127.0.0.1:1" });
export const store: BaseStore = new ThreadkeepStore();
export const files: CompositeBackend = threadkeepRoutes("ann");
export const agent = createDeepAgent({ checkpointer: new ThreadkeepSaver(), backend: threadkeepRoutes("ann") });
export const graph = new StateGraph(MessagesAnnotation)
  .addNode("node", () => ({ messages: [] }))
  .addEdge(START, "node")
  .compile({ checkpointer: new ThreadkeepSaver(), store: new ThreadkeepStore() });
export const thread: Promise<Thread | null | undefined> = new Client().getThread("t");
export const sessions: SessionStore = new ThreadkeepSessionStore({ projectKey: "p" });
export const checkpointer: BaseCheckpointSaver = httpCheckpointer({});
export const rail = new ThreadkeepAgentrailStore<string>();
// @ts-expect-error: not an option
new ThreadkeepSaver({ uri: "http://127.0.0.1:1" });
`;

it("is required, and its classes are those of the project's LangGraph", async () => {
  const place = inject("servers").sqlite;
  writeFileSync(join(folder, "program.js"), PROGRAM);
  const env = {
    ...cleanEnvironment(),
    THREADKEEP_URL: place.url,
    THREADKEEP_API_KEY: await newKey(place),
  };
  const { stdout } = await run(process.execPath, ["program.js"], {
    cwd: folder,
    env: env as NodeJS.ProcessEnv,
  });
  const classes = "true,true,true,true";
  expect(stdout.trim()).toBe(`${classes} hello! true function,function threadkeep`);
});

describe("TypeScript takes it", () => {
  it.each(["nodenext", "node16"])("with module %s", async (module) => {
    writeFileSync(join(folder, "typed.ts"), TYPED);
    const options = ["--strict", "--noEmit", "--target", "es2022", "--skipLibCheck"];
    // What fails says so on its standard output, which an error of the process keeps to itself.
    const tsc = `${ROOT}node_modules/.bin/tsc`;
    const said = await run(tsc, [...options, "--module", module, "typed.ts"], { cwd: folder }).then(
      ({ stdout }) => stdout,
      ({ stdout }) => stdout,
    );
    expect(said).toBe("");
  });
});
