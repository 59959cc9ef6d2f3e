/** Where the recommended routes put files: which namespace and path a request names. */

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { CompositeBackend, StateBackend } from "deepagents";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import {
  type BackendContext,
  driveBackend,
  ThreadkeepBackend,
  threadkeepRoutes,
} from "../src/deepagents/index.js";
import { FakeServer } from "./fake_server.js";

const folder = mkdtempSync(join(tmpdir(), "tk-drive-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let server: FakeServer;
let options: { url: string; fetch: typeof fetch };

beforeEach(() => {
  server = new FakeServer();
  options = { url: "http://server", fetch: server.fetch };
  const echo = ({ path }: Record<string, unknown>) => ({ path, version: 1, created: true });
  server.answers.set("/v1/files/write", echo);
  server.answers.set("/v1/files/ls", ({ path }) => {
    return {
      entries: [{ path: `${path === "/" ? "" : path}/x`, is_dir: false, size: 0, modified_at: "" }],
    };
  });
  server.answers.set("/v1/files/grep", ({ path }) => {
    const below = path === "/" ? "" : path;
    return { matches: [{ path: `${below}/x`, line: 1, text: "" }], truncated: false };
  });
  server.answers.set("/v1/files/upload", ({ files }) => ({ results: files }));
  server.answers.set("/v1/files/download", ({ paths }) => {
    return { results: (paths as string[]).map((path) => ({ path, bytes: new Uint8Array() })) };
  });
});

const asked = () =>
  server.seen.map(({ body }) => `${(body["namespace"] as string[]).join("|")} ${body["path"]}`);

/** A node of a graph, run for a thread. */
async function inGraph(work: () => Promise<unknown>, configurable: Record<string, unknown>) {
  const State = Annotation.Root({ user: Annotation<string> });
  const node = async () => {
    await work();
    return {};
  };
  const graph = new StateGraph(State).addNode("node", node).addEdge(START, "node").compile();
  await graph.invoke({ user: "of the state" }, { configurable, metadata: { assistant_id: "a1" } });
}

describe("threadkeepRoutes", () => {
  it("is a CompositeBackend", () => {
    const routes = threadkeepRoutes("ann", options);
    expect(routes).toBeInstanceOf(CompositeBackend);
    expect(routes.routePrefixes).toEqual([
      "/memories/",
      "/large_tool_results/",
      "/conversation_history/",
    ]);
  });

  it.each([
    ["/memories/p.md", "ann~2ex|filesystem /p.md"],
    ["/memory/p.md", "ann~2ex|filesystem /p.md"],
    ["/workspace/a/b.md", "ann~2ex|workspace /a/b.md"],
    ["/a/b.md", "ann~2ex|workspace /a/b.md"],
    ["/workspace/memories/a", "ann~2ex|workspace /memories/a"],
    ["/workspace/workspace/a", "ann~2ex|workspace /workspace/a"],
    ["/workspaces", "ann~2ex|workspace /workspaces"],
    ["/memory.md", "ann~2ex|workspace /memory.md"],
    ["/projects/a", "ann~2ex|workspace /projects/a"],
    ["/large_tool_results/c1.txt", "ann~2ex|threads|t~2f1|artifacts /large_tool_results/c1.txt"],
    ["/conversation_history/s", "ann~2ex|threads|t~2f1|artifacts /conversation_history/s"],
  ])("puts %s into %s", async (path, place) => {
    const routes = threadkeepRoutes("ann.x", { ...options, threadId: "t/1" });
    expect(await routes.write(path, "")).toEqual({ path, filesUpdate: null });
    expect(asked()).toEqual([place]);
  });

  it("answers with the names that were asked for", async () => {
    const routes = threadkeepRoutes("ann", options);
    for (const path of ["/memory", "/memories", "/workspace", "/workspace/d", "/d"]) {
      expect(
        (await routes.ls(path)).files?.map((it) => it.path),
        path,
      ).toEqual([`${path}/x`]);
    }
    const paths = ["/memory/a", "/large_tool_results/b", "/workspace/c", "/d", "/memories/e"];
    const found = await routes.downloadFiles(paths);
    expect(found.map((it) => it.path)).toEqual(paths);
    const bytes = new Uint8Array([1]);
    const sent = await routes.uploadFiles(paths.map((path) => [path, bytes]));
    expect(sent).toEqual(paths.map((path) => ({ path, error: null })));
  });

  it("deletes the workspace without what is mounted beside it", async () => {
    server.answers.set("/v1/files/delete", () => ({ deleted: 1 }));
    const routes = threadkeepRoutes("ann", options);
    expect(await routes.delete("/workspace")).toEqual({ path: "/workspace", filesUpdate: null });
    expect(asked()).toEqual(["ann|workspace /"]);
  });

  it("shows what only the long name reaches by its long name", async () => {
    const routes = threadkeepRoutes("ann", options);
    const matches = [{ path: "/memories/x", is_dir: false, size: 0, modified_at: "" }];
    server.answers.set("/v1/files/glob", ({ namespace }) => {
      const isWorkspace = (namespace as string[])[1] === "workspace";
      return { matches: isWorkspace ? matches : [], truncated: false };
    });
    const shown = async (below: string) =>
      (await routes.glob("**", below)).files?.map((it) => it.path);
    expect(await shown("/")).toEqual(["/workspace/memories/x"]);
    expect(await shown("/workspace")).toEqual(["/workspace/memories/x"]);
  });

  it("finds each file of a search of everything once", async () => {
    const routes = threadkeepRoutes("ann", options);
    const found = await routes.grep("");
    expect(found.matches?.map((it) => it.path)).toEqual([
      "/x",
      "/memories/x",
      "/large_tool_results/x",
      "/conversation_history/x",
    ]);
    expect((await routes.ls("/")).files?.map((it) => it.path)).toEqual([
      "/conversation_history/",
      "/large_tool_results/",
      "/memories/",
      "/x",
    ]);
  });

  it("belongs to the thread and the user of the graph that runs", async () => {
    const seen: BackendContext[] = [];
    const routes = threadkeepRoutes(async (context) => {
      seen.push(context);
      return (context.state as { user: string }).user;
    }, options);
    const write = () => routes.write("/large_tool_results/c", "");
    await inGraph(write, { thread_id: "one" });
    await inGraph(write, { thread_id: 2 });
    expect(asked()).toEqual([
      "of~20the~20state|threads|one|artifacts /large_tool_results/c",
      "of~20the~20state|threads|2|artifacts /large_tool_results/c",
    ]);
    expect(seen[0]).toMatchObject({
      assistantId: "a1",
      config: { configurable: { thread_id: "one" } },
    });
    // Outside of a graph there is no state, so this function fails, and the call says so.
    expect((await write()).error).toMatch(/^Error: /);
    expect(server.seen).toHaveLength(2);
    await threadkeepRoutes("ann", options).write("/large_tool_results/c", "");
    expect(asked().at(-1)).toBe("ann|threads|default|artifacts /large_tool_results/c");
  });

  it("leaves everything else to another backend", async () => {
    const routes = threadkeepRoutes("ann", { ...options, default: new StateBackend() });
    await routes.write("/memory/a", "");
    expect(asked()).toEqual(["ann|filesystem /a"]);
    await expect(routes.write("/workspace/a", "")).rejects.toThrow();
    expect(server.seen).toHaveLength(1);
  });

  it("refuses users that are none", async () => {
    expect((await threadkeepRoutes("", options).write("/a", "")).error).toMatch(/user's id/);
    expect(server.seen).toEqual([]);
  });
});

describe("driveBackend", () => {
  it("is the routes in the cloud", async () => {
    await driveBackend("ann", options).write("/workspace/a", "");
    expect(asked()).toEqual(["ann|workspace /a"]);
  });

  it("has the workspace in a folder on the desktop, and the rest on the server", async () => {
    const drive = driveBackend("ann", { ...options, device: "desktop", rootDir: folder });
    expect((await drive.write("/workspace/notes.md", "mine")).error).toBeUndefined();
    expect(readFileSync(join(folder, "notes.md"), "utf8")).toBe("mine");
    writeFileSync(join(folder, "there.md"), "before");
    expect((await drive.read("/there.md")).content).toBe("before");
    expect((await drive.read("/../../etc/passwd")).error).toBeTruthy();
    expect((await drive.ls("/workspace")).files?.map((it) => it.path)).toEqual([
      "/workspace/notes.md",
      "/workspace/there.md",
    ]);
    expect(server.seen).toEqual([]);
    await drive.write("/memories/a", "");
    await drive.write("/large_tool_results/c", "");
    expect(asked()).toEqual([
      "ann|filesystem /a",
      "ann|threads|default|artifacts /large_tool_results/c",
    ]);
    expect(drive.routePrefixes).toEqual(driveBackend("ann", options).routePrefixes);
  });

  it.each([
    [{ device: "phone" }, /cloud or desktop/],
    [{ device: "desktop" }, /rootDir/],
  ])("refuses %o", (wrong, text) => {
    expect(() => driveBackend("ann", { ...options, ...(wrong as object) })).toThrow(text);
  });
});

describe("a namespace", () => {
  it("may come from a function of what StoreBackend tells one", async () => {
    const namespace = ({ assistantId }: BackendContext) => [assistantId ?? "nobody", "filesystem"];
    const backend = new ThreadkeepBackend({ ...options, namespace });
    await inGraph(() => backend.write("/a", ""), {});
    await backend.write("/a", "");
    expect(asked()).toEqual(["a1|filesystem /a", "nobody|filesystem /a"]);
  });
});
