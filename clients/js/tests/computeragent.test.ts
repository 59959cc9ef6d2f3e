/** What the builders of `kind: "http"` take, and what never. */

import { afterEach, describe, expect, it, vi } from "vitest";
import { httpCheckpointer, httpSessionStore } from "../src/computeragent/index.js";
import { FakeServer } from "./fake_server.js";

const KEY = { projectKey: "-tmp-boot-17", sessionId: "s" };
const CONFIG = { configurable: { thread_id: "s" } };

afterEach(() => vi.unstubAllEnvs());

function served() {
  const server = new FakeServer();
  server.answers.set("/v1/sessions/append", () => ({ head: 1, appended: 1 }));
  server.answers.set("/v1/checkpoints/get", () => ({ chain: [], history_channels: [] }));
  return { server, host: { fetch: server.fetch } };
}

describe("a store of options", () => {
  it("pins the project, and keeps session and subpath", async () => {
    const { server, host } = served();
    const store = httpSessionStore({ url: "http://one" }, host);
    await store.append({ ...KEY, subpath: "subagents/agent-1" }, [{ type: "x" }]);
    expect(server.seen[0]?.body).toMatchObject({
      kind: "claude",
      key: ["computeragent", "s"],
      stream: "subagents/agent-1",
    });
    const own = httpSessionStore({ url: "http://one", projectKey: "mine" }, host);
    await own.append(KEY, [{ type: "x" }]);
    expect(server.seen[1]?.body["key"]).toEqual(["mine", "s"]);
  });

  it("has no summaries, so that the SDK loads what it lists", () => {
    const store = httpSessionStore({ url: "http://one" });
    expect(store.listSessionSummaries).toBeUndefined();
    expect(store).not.toHaveProperty("listSessionSummaries");
  });

  it("takes its token from the variable that is named", async () => {
    const { server, host } = served();
    vi.stubEnv("MY_TOKEN", "tks_abc");
    vi.stubEnv("THREADKEEP_API_KEY", "tk_default");
    const named = { url: "http://one", tokenEnv: "MY_TOKEN" };
    await httpSessionStore(named, host).append(KEY, [{ type: "x" }]);
    await httpCheckpointer(named, host).getTuple(CONFIG);
    await httpSessionStore({ url: "http://one" }, host).append(KEY, [{ type: "x" }]);
    const sent = server.seen.map((it) => it.headers.get("authorization"));
    expect(sent).toEqual(["Bearer tks_abc", "Bearer tks_abc", "Bearer tk_default"]);
  });

  it("needs no options at all", async () => {
    const { server, host } = served();
    vi.stubEnv("THREADKEEP_URL", "http://elsewhere");
    for (const none of [undefined, null, {}]) {
      await httpSessionStore(none, host).append(KEY, [{ type: "x" }]);
    }
    expect(server.seen).toHaveLength(3);
  });
});

describe("options", () => {
  it.each([
    ["token", "tks_abc", /tokenEnv/],
    ["apiKey", "tk_abc", /tokenEnv/],
    ["authorization", "Bearer x", /tokenEnv/],
    ["headers", {}, /tokenEnv/],
    ["password", "x", /tokenEnv/],
    ["tenant", "x", /the token's/],
    ["database", "x", /not known/],
    ["url", 7, /must be a string/],
    ["timeoutMs", "7", /must be a number/],
    ["projectKey", "", /must not be empty/],
    ["tokenEnv", "NOT SET", /name of an environment variable/],
    ["tokenEnv", "NEVER_SET_ANYWHERE", /is not set/],
  ])("with %s = %j are refused by that name", (name, value, why) => {
    const build = () => httpSessionStore({ [name]: value });
    expect(build).toThrow(why);
    expect(build).toThrow(expect.objectContaining({ field: `options.${name}`, code: "invalid" }));
    expect(() => httpCheckpointer({ [name]: value })).toThrow(why);
  });

  it("with a password in the address are refused, and not repeated", () => {
    const build = () => httpSessionStore({ url: "http://user:hunter2@one" });
    expect(build).toThrow(/url must be/);
    expect(build).not.toThrow(/hunter2/);
  });

  it("cannot have another secret of the environment sent", () => {
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY");
    const options = { url: "http://evil", tokenEnv: "AWS_SECRET_ACCESS_KEY" };
    expect(() => httpSessionStore(options)).toThrow(/holds no key or token/);
    expect(() => httpSessionStore(options)).not.toThrow(/wJalr/);
  });

  it("cannot send the token to another server than the one that the process trusts", () => {
    vi.stubEnv("THREADKEEP_URL", "http://mine:7070/");
    vi.stubEnv("THREADKEEP_API_KEY", "tk_abc");
    expect(() => httpSessionStore({ url: "http://evil" })).toThrow(/none of the servers/);
    expect(() => httpCheckpointer({ url: "http://mine:7070@evil" })).toThrow(/none of the servers/);
    expect(() => httpSessionStore({ url: "http://mine:7070" })).not.toThrow();
    const host = { urls: ["http://two"] };
    expect(() => httpSessionStore({ url: "http://two/" }, host)).not.toThrow();
    expect(() => httpSessionStore({ url: "http://mine:7070" }, host)).toThrow(
      /none of the servers/,
    );
  });
});
