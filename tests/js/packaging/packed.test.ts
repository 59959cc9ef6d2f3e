/** The package as npm would publish it, installed into an empty project: it runs there, and its types hold. */

import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, inject, it } from "vitest";
import { newKey } from "../support/server.js";
import { cleanEnvironment, ROOT } from "../support/settings.js";
import { installPacked, run } from "./project.js";

const folder = await installPacked("module");
const installed = join(folder, "node_modules/threadkeep");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PROGRAM = `
import { Client, ThreadkeepError } from "threadkeep";
import { driveBackend, ThreadkeepBackend, ThreadkeepBackendV1, threadkeepRoutes } from "threadkeep/deepagents";
import { ThreadkeepSaver, ThreadkeepStore } from "threadkeep/langgraph";
import { Annotation, START, StateGraph } from "@langchain/langgraph";

const State = Annotation.Root({ text: Annotation });
const node = async ({ text }, config) => {
  await config.store.put(["packed"], "k", { bytes: new TextEncoder().encode(text + "!") });
  const item = await config.store.get(["packed"], "k");
  return { text: new TextDecoder().decode(item.value.bytes) };
};
const graph = new StateGraph(State)
  .addNode("node", node)
  .addEdge(START, "node")
  .compile({ checkpointer: new ThreadkeepSaver(), store: new ThreadkeepStore() });
const config = { configurable: { thread_id: "packed" } };
await graph.invoke({ text: "hello" }, config);
const { values } = await graph.getState(config);
const refused = await new ThreadkeepSaver({ apiKey: "tk_no" }).getTuple(config).catch((error) => error);
const { checkpointCount } = await new Client().getThread("packed");
if (checkpointCount !== 3) throw new Error("the client sees another thread");
const written = await threadkeepRoutes("ann").write("/memories/a.md", "tea");
const kept = await new ThreadkeepBackend({ namespace: ["ann", "filesystem"] }).read("/a.md");
const shown = await new ThreadkeepBackendV1({ namespace: ["ann", "filesystem"] }).read("/a.md");
if (written.error || kept.content !== "tea" || !shown.endsWith("tea")) throw new Error("no files");
if (driveBackend("ann").routePrefixes.length !== 3) throw new Error("no drive");
console.log(values.text, refused instanceof ThreadkeepError, refused.code);
`;

const TYPED = `
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { BaseStore, GetOperation, Item, PutOperation } from "@langchain/langgraph-checkpoint";
import { type BackendProtocolV1, type BackendProtocolV2, CompositeBackend, createDeepAgent } from "deepagents";
import { driveBackend, ThreadkeepBackend, ThreadkeepBackendV1, threadkeepRoutes } from "threadkeep/deepagents";
import { Client, ConflictError, type FileEntry, type Thread, type ThreadkeepError } from "threadkeep";
import { type PruneReport, ThreadkeepSaver, type StoreItem, ThreadkeepStore } from "threadkeep/langgraph";

import { createOrchestrationPersistence, createTraceStoreFactory, ThreadkeepAgentrailStore } from "threadkeep/agentrail";
import { type SessionStore, ThreadkeepSessionStore } from "threadkeep/claude";
import { httpCheckpointer, httpSessionStore, sessionStoreCheckpointer } from "threadkeep/computeragent";

const sessions: SessionStore = new ThreadkeepSessionStore({ projectKey: "p", url: "http://127.0.0.1:1" });
export const overLog: BaseCheckpointSaver = sessionStoreCheckpointer(sessions, { sessionId: "s" });
export const builders: ((options: unknown) => object)[] = [httpSessionStore, httpCheckpointer];
export const head: Promise<number> = new Client().sessions.append({ kind: "k", key: ["a"] }, [{ data: 1 }]).then((it) => it.head);
export const traced: Promise<void> = createTraceStoreFactory<{ any: string }>()("t:s").appendEnvelope({ any: "" });
export const waits: Promise<string[]> = createOrchestrationPersistence("t:s").recoverState().then((it) => it.pendingWaits.map(({ id }) => id));
declare const brand: unique symbol;
export const ref: Promise<{ sessionRef: string & { [brand]: true } }> = new ThreadkeepAgentrailStore<string & { [brand]: true }>().getOrCreate("t", "u", "a");
// @ts-expect-error: needs a session
sessionStoreCheckpointer(sessions, {});
// @ts-expect-error: an entry has data
new Client().sessions.append({ kind: "k", key: ["a"] }, [{ id: "a" }]);
const saver: BaseCheckpointSaver = new ThreadkeepSaver({ url: "http://127.0.0.1:1", timeoutMs: 100 });
export const report: Promise<PruneReport> = new ThreadkeepSaver().prune(["t"], { keepLast: 2, olderThan: new Date() });
export const field = (error: ThreadkeepError): string | undefined => (error instanceof ConflictError ? error.code : error.field);
const client = new Client();
export const made = (thread: Thread): Date => thread.createdAt;
export const step = (thread: Thread): number | undefined => thread.lastStep;
// @ts-expect-error: not a field
export const wrong = (thread: Thread) => thread.created_at;
export const secret: Promise<string> = client.tokens.mint({ subject: "ann" }).then((it) => it.token);
// @ts-expect-error: not an order
client.listThreads({ sort: "weight" });
const mine = new ThreadkeepStore({ ttl: { defaultTtl: 5 } });
export const store: BaseStore = mine;
export const item: Promise<StoreItem | null> = mine.get(["n"], "k");
export const plain: Promise<Item | null> = store.get(["n"], "k");
export const results: Promise<[Item | null, void]> = mine.batch<[GetOperation, PutOperation]>([
  { namespace: ["n"], key: "k" },
  { namespace: ["n"], key: "k", value: { a: 1 } },
]);
mine.search(["n"], { filter: { a: { $gt: 1, $exists: true }, "b.c": [1, new Date()], $or: [{ d: null }] }, exact: true });
const given: Record<string, any> = { a: 1 };
mine.search(["n"], { filter: { a: { b: { c: { $in: [1, { d: 2 }] } } }, $not: { e: { $not: { $lt: 5n } } } } });
mine.search(["n"], { filter: given });
// @ts-expect-error: not an operator
mine.search(["n"], { filter: { a: { $bogus: 1 } } });
// @ts-expect-error: nor deeper
mine.search(["n"], { filter: { a: { b: { $like: "x" } } } });
// @ts-expect-error: not an order
mine.search(["n"], { sortBy: "size" });
// @ts-expect-error: minutes
mine.put(["n"], "k", {}, false, { ttl: "5" });
// @ts-expect-error: not an option
new ThreadkeepSaver({ uri: "http://127.0.0.1:1" });
const namespace = ["ann", "filesystem"];
export const whole: Required<BackendProtocolV2> = new ThreadkeepBackend({ namespace });
export const old: BackendProtocolV1 = new ThreadkeepBackendV1({ namespace: async ({ assistantId }) => [assistantId ?? "x"] });
export const composed: CompositeBackend = threadkeepRoutes(({ config }) => String(config?.configurable?.["user_id"]));
createDeepAgent({ backend: driveBackend("ann", { device: "desktop", rootDir: "/home/ann" }) });
new CompositeBackend(whole, { "/memories/": new ThreadkeepBackend({ namespace, root: "/m" }) });
export const entry: Promise<FileEntry | undefined> = client.files.stat(namespace, "/a.md");
// @ts-expect-error: a backend needs a namespace
new ThreadkeepBackend({});
// @ts-expect-error: not a dialect
client.files.glob(namespace, "*", { dialect: "ruby" });
export default saver;
`;

it("holds what it needs and nothing else", () => {
  const parts = ["README.md", "dist", "package.json", "src"];
  expect(readdirSync(installed).sort()).toEqual(parts);
});

it("runs in a project of its own", async () => {
  const place = inject("servers").sqlite;
  writeFileSync(join(folder, "program.mjs"), PROGRAM);
  const env = {
    ...cleanEnvironment(),
    THREADKEEP_URL: place.url,
    THREADKEEP_API_KEY: await newKey(place),
  };
  const { stdout } = await run(process.execPath, ["program.mjs"], {
    cwd: folder,
    env: env as NodeJS.ProcessEnv,
  });
  expect(stdout.trim()).toBe("hello! true unauthorized");
});

it("has types that hold in a strict project", async () => {
  writeFileSync(join(folder, "typed.ts"), TYPED);
  const options = [
    "--strict",
    "--noEmit",
    "--module",
    "nodenext",
    "--target",
    "es2022",
    "--skipLibCheck",
    "--exactOptionalPropertyTypes",
  ];
  const { stdout } = await run(`${ROOT}node_modules/.bin/tsc`, [...options, "typed.ts"], {
    cwd: folder,
  });
  expect(stdout).toBe("");
});

it("imports nothing of Node and names nothing that only Node has", () => {
  const files = readdirSync(join(installed, "dist"), { recursive: true }).map(String);
  // The CommonJS form is the same source; it has to say require.
  const code = files.filter((file) => file.endsWith(".js") && !file.startsWith("cjs/"));
  expect(code.length).toBeGreaterThan(15);
  for (const file of code) {
    // The two uses of the process, both behind a question whether there is one.
    const text = readFileSync(join(installed, "dist", file), "utf8").replaceAll(
      /^\s*(\/\/|\/?\*).*$/gm,
      "",
    );
    expect(text.replaceAll(/process\?\./g, ""), file).not.toMatch(
      /\bBuffer\b|from "node:|require\(|process\./,
    );
  }
});

it("runs where there is no process, with names by WebCrypto", async () => {
  const program = `
    delete process.getBuiltinModule;
    const { ThreadkeepSaver, ThreadkeepStore } = await import("threadkeep/langgraph");
    const url = process.env.THREADKEEP_URL, apiKey = process.env.THREADKEEP_API_KEY;
    for (const name of ["process", "require", "setImmediate"]) delete globalThis[name];
    const saver = new ThreadkeepSaver({ url, apiKey });
    const config = { configurable: { thread_id: "elsewhere" } };
    const list = Array.from({ length: 50 }, (_, at) => "message " + at * 7919);
    for (const number of [1, 2, 3]) {
      const channel_values = { list: [...list, number] };
      const point = { v: 4, id: "c" + number, ts: "", channel_values, channel_versions: { list: number }, versions_seen: {} };
      await saver.put(config, point, { source: "loop", step: number, parents: {} }, { list: number });
    }
    const found = await saver.getTuple(config);
    if (found.checkpoint.channel_values.list.at(-1) !== 3) throw new Error("lost");
    const store = new ThreadkeepStore({ url, apiKey });
    const value = { bytes: new Uint8Array([1, 2, 255]), big: 2n ** 60n };
    await Promise.all([store.put(["n"], "k", value), store.put(["n"], "l", value)]);
    const items = await store.search(["n"], { filter: value });
    const { ThreadkeepSessionStore } = await import("threadkeep/claude");
    const sessions = new ThreadkeepSessionStore({ url, apiKey });
    const key = { projectKey: "p", sessionId: "s" };
    await sessions.append(key, [{ type: "x", uuid: "1" }]);
    if ((await sessions.load(key))[0].type !== "x") throw new Error("lost");
    if (items.length !== 2 || items[0].value.bytes[2] !== 255 || items[0].value.big !== 2n ** 60n) throw new Error("lost");
  `;
  writeFileSync(join(folder, "elsewhere.mjs"), program);
  const place = inject("servers").postgres;
  const env = {
    ...cleanEnvironment(),
    THREADKEEP_URL: place.url,
    THREADKEEP_API_KEY: await newKey(place),
  };
  await run(process.execPath, ["elsewhere.mjs"], { cwd: folder, env: env as NodeJS.ProcessEnv });
});
