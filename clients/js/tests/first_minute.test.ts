/** Tests constructors, printed objects, and errors that say what to do. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ThreadkeepAgentrailStore } from "../src/agentrail/index.js";
import { ThreadkeepSessionStore } from "../src/claude/index.js";
import { ThreadkeepBackend } from "../src/deepagents/index.js";
import * as errors from "../src/errors.js";
import { Client } from "../src/index.js";
import { ThreadkeepSaver, ThreadkeepStore } from "../src/langgraph/index.js";
import { FakeServer } from "./fake_server.js";
import { outcome } from "./outcomes.js";

let server: FakeServer;

beforeEach(() => {
  server = new FakeServer();
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

function saver(options = {}): ThreadkeepSaver {
  return new ThreadkeepSaver({ url: "http://server", fetch: server.fetch, ...options });
}

describe("options", () => {
  it("that could never work are refused by name", () => {
    for (const url of [
      "",
      "ftp://x",
      "http://a b",
      "http://x?y=1",
      "http://user:pw@x",
      "nonsense",
    ]) {
      if (url === "") continue;
      expect(() => new ThreadkeepSaver({ url })).toThrow(/url must be/);
    }
    expect(() => new ThreadkeepSaver({ apiKey: "tk_\n" })).toThrow(errors.InvalidError);
    for (const timeoutMs of [0, -1, Number.NaN, 2 ** 31]) {
      expect(() => new ThreadkeepSaver({ timeoutMs })).toThrow(errors.InvalidError);
      expect(() => saver().withOptions({ timeoutMs })).toThrow(/timeoutMs/);
    }
  });

  it("may be an address and a key, as other checkpointers and stores take them", async () => {
    const seen: [string, string | null][] = [];
    vi.stubGlobal("fetch", async (input: string, init: RequestInit) => {
      seen.push([input, new Headers(init.headers).get("authorization")]);
      return await server.fetch(input, init);
    });
    for (const made of [
      new ThreadkeepSaver("http://one", "tk_1"),
      ThreadkeepSaver.fromConnString("http://one", { apiKey: "tk_1" }),
      new ThreadkeepStore("http://one", "tk_1"),
      ThreadkeepStore.fromConnString("http://one", { apiKey: "tk_1" }),
    ]) {
      await made.setup();
    }
    vi.unstubAllGlobals();
    expect(seen).toEqual(Array(4).fill(["http://one/v1/whoami", "Bearer tk_1"]));
    server.faults = [{ status: 401, code: "unauthorized" }];
    const refused = await outcome(() => saver().setup());
    expect(refused.error).toBeInstanceOf(errors.UnauthorizedError);
  });

  it("show the address and never the key, wherever an object is shown", async () => {
    const { inspect } = await import("node:util");
    const options = { url: "http://server", apiKey: "tk_secret", namespace: ["n"] };
    for (const made of [
      new ThreadkeepSaver(options),
      new ThreadkeepSaver(options).withOptions({ timeoutMs: 1 }),
      new ThreadkeepStore(options),
      new Client(options),
      new ThreadkeepBackend(options),
      new ThreadkeepSessionStore(options),
      new ThreadkeepAgentrailStore(options),
    ]) {
      const text = `[${made.constructor.name} http://server]`;
      expect(inspect(made, { depth: 9, showHidden: true })).toBe(text);
      expect(inspect({ made }, { depth: 9 })).toContain(text);
      expect(String(made)).toBe(text);
      expect(JSON.stringify({ made })).toBe(`{"made":"${text}"}`);
      expect(Object.keys(made)).not.toContain("toJSON");
    }
  });

  it("come from the environment", async () => {
    vi.stubEnv("THREADKEEP_API_KEY", "tk_secret");
    vi.stubEnv("THREADKEEP_URL", "http://elsewhere/");
    const paths: string[] = [];
    const asked = new ThreadkeepSaver({
      fetch: (input, init) => {
        paths.push(String(input));
        return server.fetch(input, init);
      },
    });
    vi.unstubAllEnvs();
    await asked.deleteThread("t");
    expect(paths).toEqual(["http://elsewhere/v1/threads/delete"]);
    expect(server.seen[0]?.headers.get("authorization")).toBe("Bearer tk_secret");
  });
});

describe("an error of the first minute", () => {
  function failing(code: string, message: string) {
    const fetch = async () => {
      throw new TypeError("fetch failed", { cause: Object.assign(new Error(message), { code }) });
    };
    return (url: string) => {
      return outcome(() => new ThreadkeepSaver({ url, fetch, apiKey: "tk_secret" }).setup());
    };
  }

  it("says that no server listens, and how to start one", async () => {
    const { error } = await failing("ECONNREFUSED", "")("http://127.0.0.1:7070");
    expect(String(error)).toContain("no server listens at http://127.0.0.1:7070");
    expect(String(error)).toContain("threadkeep serve");
    expect(String(error)).not.toContain("tk_secret");
  });

  it("says that there is no TLS, at once", async () => {
    const call = failing("ERR_SSL_WRONG_VERSION_NUMBER", "wrong version number");
    const { error, ms } = await call("https://127.0.0.1:7070");
    expect(String(error)).toContain("no TLS at https://127.0.0.1:7070: write http://");
    expect(ms).toBeLessThan(200);
  });

  it("says that /v1 does not belong to the address", async () => {
    server.faults = [{ status: 404, code: "not_found" }];
    const { error } = await outcome(() => saver({ url: "http://server/v1/" }).setup());
    expect(error).toBeInstanceOf(errors.NotFoundError);
    expect(String(error)).toContain("write `url` without /v1");
  });

  it("tells the address of a database from that of a server, and repeats no password", () => {
    for (const url of ["postgres://ann:hunter2@db/x", "postgresql://db/x", "sqlite://x"]) {
      const make = () => new ThreadkeepSaver(url);
      expect(make).toThrow(errors.InvalidError);
      expect(make).toThrow(/the database is named to the server/);
      expect(make).not.toThrow(/hunter2/);
    }
  });

  it("does not take the key of the environment for an empty one that was given", () => {
    vi.stubEnv("THREADKEEP_API_KEY", "tk_environment");
    const empty = { url: "http://server", apiKey: "" };
    for (const make of [
      () => new ThreadkeepSaver(empty),
      () => new ThreadkeepSaver("http://server", ""),
      () => new ThreadkeepStore(empty),
      () => new Client(empty),
    ]) {
      expect(make).toThrow(/apiKey is empty/);
    }
    expect(() => new ThreadkeepSaver({ url: "http://server" })).not.toThrow();
    vi.unstubAllEnvs();
  });
});
