/** Calls every public method of LangGraph's SDK in five versions: the result is that of the table, and each call is one request. */

import type { StateSnapshot } from "@langchain/langgraph";
import type { Client } from "langgraph-sdk-1.15.0";
import { ThreadkeepSaver } from "threadkeep/langgraph";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import * as graphs from "../equivalence/graphs.js";
import { versionOf } from "../support/peers.js";
import { RequestLog } from "../support/request_log.js";
import { newKey } from "../support/server.js";
import type { Engine } from "../support/servers.js";
import { type Call, whole } from "./sdk_call.js";
import { CALLS } from "./sdk_calls.js";

const PACKAGES = [
  "@langchain/langgraph-sdk",
  "langgraph-sdk-1.9.31",
  "langgraph-sdk-1.12.8",
  "langgraph-sdk-1.15.0",
  "langgraph-sdk-2.0.0",
];
const ENGINES: Engine[] = ["sqlite", "postgres"];
const VERSIONS = PACKAGES.map((name) => [name, versionOf(name)] as const);
const ON_ENGINES = ENGINES.flatMap((engine) => VERSIONS.map((it) => [engine, ...it] as const));

/** A tenant with the thread `asking`, which is at a question of the graph `agent`. */
class Scene {
  private constructor(
    readonly log: RequestLog,
    /** Its requests are listed. */
    readonly client: Client,
    /** Its requests are not. */
    readonly unlisted: Client,
    readonly asked: StateSnapshot,
  ) {}

  static async open(engine: Engine, name: string): Promise<Scene> {
    const { Client } = (await import(name)) as typeof import("langgraph-sdk-1.15.0");
    const place = inject("servers")[engine];
    const apiKey = await newKey(place);
    const log = await RequestLog.before(place.url);
    const unlisted = new Client({ apiUrl: place.url, apiKey });
    await unlisted.threads.create({ threadId: "asking", graphId: "agent" });
    const saver = new ThreadkeepSaver({ url: place.url, apiKey });
    const graph = graphs.asking("plain", saver);
    const config = { configurable: { thread_id: "asking" } };
    await graph.invoke({ log: ["in"] }, config);
    const client = new Client({ apiUrl: log.url, apiKey });
    return new Scene(log, client, unlisted, await graph.getState(config));
  }

  /** The SDK repeats a request before its call ends, so afterwards all are in the list. */
  async check({ given, send, returns, refusal, counted }: Call): Promise<void> {
    const id = (await given?.(this.unlisted)) ?? "";
    const before = this.log.requests.length;
    const answer = (async () => whole(await send(this.client, id)))();
    if (refusal) expect(await answer.then(notRefused, refusalOf)).toMatchObject(refusal);
    else expect(await answer).toStrictEqual(returns?.(this.asked, id));
    const sent = this.log.requests.slice(before);
    expect(counted ? sent.filter((it) => it === counted) : sent).toHaveLength(1);
  }
}

const notRefused = (answer: unknown) => ({ answer });

/** The status and the code in an error of the SDK's own class. No version exports the class. */
function refusalOf(error: { status?: number; text?: string }): object {
  expect(error.constructor.name, String(error)).toBe("HTTPError");
  return { status: error.status, code: JSON.parse(error.text ?? "").code };
}

function callsOf(version: string): [string, Call][] {
  return Object.entries(CALLS).flatMap(([part, methods]) =>
    Object.entries(methods).flatMap(([method, calls]) =>
      calls
        .filter((call) => !call.lackedBy?.includes(version))
        .map((call): [string, Call] => [`${part}.${method}`, call]),
    ),
  );
}

/** The public methods. Parts such as `~ui` are the SDK's own. */
function methodsOf(client: Client): string[] {
  const parts = Object.entries(client).filter(([name]) => !name.startsWith("~"));
  return parts.flatMap(([name, part]) =>
    Object.getOwnPropertyNames(Object.getPrototypeOf(part))
      .filter((method) => method !== "constructor")
      .map((method) => `${name}.${method}`),
  );
}

describe.each(ON_ENGINES)("on %s, %s %s", (engine, name, version) => {
  let scene: Scene;

  beforeAll(async () => {
    scene = await Scene.open(engine, name);
  });

  afterAll(() => scene?.log.close());

  it("has the methods that are called, and no other", () => {
    const called = new Set(callsOf(version).map(([method]) => method));
    expect([...called].sort()).toEqual(methodsOf(scene.client).sort());
  });

  it.each(callsOf(version).map(([method, call]) => [`${method} ${call.does}`, call] as const))(
    "%s",
    async (_, call) => {
      await scene.check(call);
    },
  );
});
