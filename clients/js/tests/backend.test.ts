/** What the backends of deepagents ask a server and answer an agent, with a server that does as it is told. */

import { createHash } from "node:crypto";
import { adaptBackendProtocol } from "deepagents";
import { beforeEach, describe, expect, it } from "vitest";
import { ThreadkeepBackend, ThreadkeepBackendV1 } from "../src/deepagents/index.js";
import { FakeServer, type Fault } from "./fake_server.js";
import { ONE_ATTEMPT, stopTheClock } from "./one_attempt.js";

stopTheClock();

const NS = ["ann", "filesystem"];
const WINDOW = {
  encoding: "utf-8",
  created_at: "c",
  modified_at: "m",
  media_type: "text/markdown",
  version: 1,
  size: 1,
};

let server: FakeServer;
let options: ConstructorParameters<typeof ThreadkeepBackend>[0];
let backend: ThreadkeepBackend;
let old: ThreadkeepBackendV1;

beforeEach(() => {
  server = new FakeServer();
  options = { url: "http://server", fetch: server.fetch, namespace: NS, ...ONE_ATTEMPT };
  backend = new ThreadkeepBackend(options);
  old = new ThreadkeepBackendV1(options);
});

function answers(call: string, answer: unknown): void {
  server.answers.set(`/v1/files/${call}`, () => answer);
}

function entry(path: string, isDir = false) {
  return { path, is_dir: isDir, size: isDir ? 0 : 3, modified_at: isDir ? "" : "m", version: 1 };
}

const bodies = () => server.seen.map(({ body }) => body);
const bytes = new Uint8Array([1]);

/** Every operation, and the texts in what it answers. */
const OPERATIONS: [string, (it: ThreadkeepBackend, v1: ThreadkeepBackendV1) => Promise<unknown>][] =
  [
    ["ls", (it) => it.ls("/")],
    ["read", (it) => it.read("/a")],
    ["readRaw", (it) => it.readRaw("/a")],
    ["grep", (it) => it.grep("x")],
    ["glob", (it) => it.glob("*")],
    ["write", (it) => it.write("/a", "x")],
    ["edit", (it) => it.edit("/a", "x", "y")],
    ["delete", (it) => it.delete("/a")],
    ["uploadFiles", (it) => it.uploadFiles([["/a", bytes]])],
    ["downloadFiles", (it) => it.downloadFiles(["/a"])],
    ["lsInfo", (_, v1) => v1.lsInfo("/")],
    ["read of V1", (_, v1) => v1.read("/a")],
    ["grepRaw", (_, v1) => v1.grepRaw("x")],
    ["globInfo", (_, v1) => v1.globInfo("*")],
    ["write of V1", (_, v1) => v1.write("/a", "x")],
    ["edit of V1", (_, v1) => v1.edit("/a", "x", "y")],
    ["delete of V1", (_, v1) => v1.delete("/a")],
    ["uploadFiles of V1", (_, v1) => v1.uploadFiles([["/a", bytes]])],
    ["downloadFiles of V1", (_, v1) => v1.downloadFiles(["/a"])],
  ];

const problem = (status: number, code: string): Fault => {
  return { status, code, problem: { detail: `the ${code} text` } };
};

describe.each(OPERATIONS)("%s never throws", (name, operate) => {
  it.each<[string, Fault, RegExp]>([
    ["a lost connection", { lost: "before" }, /other side closed/],
    ["a defect of the server", problem(500, "internal"), /the internal text/],
    ["an overload", problem(503, "overloaded"), /the overloaded text/],
    ["an unknown problem", problem(418, "new"), /the new text/],
    ["something else at the address", { raw: { type: "text/html", body: "hello" } }, /text\/html/],
    ["an answer that is none", { raw: { type: "application/msgpack", body: "x" } }, /not a map/],
    ["a missing grant", problem(403, "not_granted"), /the not_granted text|permission_denied/],
  ])("after %s", async (_, fault, text) => {
    server.faults = [fault];
    const said = JSON.stringify(await operate(backend, old));
    expect(said, name).toMatch(text);
    expect(said).not.toContain("file_not_found");
    expect(server.seen).toHaveLength(1);
  });

  it("without a namespace", async () => {
    const namespace = () => {
      throw new Error("nobody is here");
    };
    const lost = { ...options, namespace };
    const said = await operate(new ThreadkeepBackend(lost), new ThreadkeepBackendV1(lost));
    expect(JSON.stringify(said)).toContain("nobody is here");
    expect(server.seen).toEqual([]);
  });
});

describe("errors of files", () => {
  const fault = { status: 404, code: "file_not_found", problem: { detail: "File '/a' not found" } };

  it.each(OPERATIONS.slice(0, 8))(
    "of %s have the text of the server as it is",
    async (_, operate) => {
      server.faults = [fault];
      expect(await operate(backend, old)).toEqual({ error: "File '/a' not found" });
    },
  );

  it("of others begin so that a model takes them for errors", async () => {
    const failed = () => {
      server.faults = [problem(503, "unavailable")];
    };
    failed();
    expect(await backend.write("/a", "")).toEqual({ error: "Error: the unavailable text" });
    failed();
    expect(await backend.delete("/a")).toEqual({
      error: "Error deleting '/a': the unavailable text",
    });
    failed();
    expect(await old.lsInfo("/")).toEqual([
      {
        path: "Error listing files: the unavailable text",
        is_dir: false,
        size: 0,
        modified_at: "",
      },
    ]);
  });

  it("of what is no path are said for each file", async () => {
    answers("upload", { results: [{ path: "/a", version: 1 }] });
    const files = [
      [5, bytes],
      ["/a", bytes],
    ] as [string, Uint8Array][];
    expect(await backend.uploadFiles(files)).toEqual([
      { path: 5, error: "invalid_path" },
      { path: "/a", error: null },
    ]);
    expect((await backend.write("/a", 5 as never)).error).toMatch(/^Error: content must be/);
  });
});

describe("answers", () => {
  it("are those of the protocol", async () => {
    answers("ls", { entries: [entry("/b/", true), entry("/a.md")] });
    expect(await backend.ls("/")).toEqual({
      files: [
        { path: "/a.md", is_dir: false, size: 3, modified_at: "m" },
        { path: "/b/", is_dir: true, size: 0, modified_at: "" },
      ],
    });
    answers("grep", { matches: [{ path: "/a", line: 2, text: "x" }], truncated: true });
    const matches = [{ path: "/a", line: 2, text: "x" }];
    expect(await backend.grep("x", null, null, 1)).toEqual({ matches, truncated: true });
    expect(bodies().at(-1)).toMatchObject({ path: "/", max_count: 1 });
    answers("grep", { matches, truncated: false });
    expect(await backend.grep("x", "/d", "*.md")).toEqual({ matches });
    answers("edit", { path: "/a", occurrences: 2, version: 1 });
    expect(await backend.edit("/a", "x", "y", true)).toEqual({
      path: "/a",
      filesUpdate: null,
      occurrences: 2,
    });
    answers("delete", { deleted: 3 });
    expect(await backend.delete("/a")).toEqual({ path: "/a", filesUpdate: null });
    answers("download", {
      results: [
        { path: "/a", bytes },
        { path: "/b", error: "file_not_found" },
      ],
    });
    expect(await backend.downloadFiles(["/a", "/b"])).toEqual([
      { path: "/a", content: bytes, error: null },
      { path: "/b", content: null, error: "file_not_found" },
    ]);
  });

  it("of a read are a window, or bytes by their media type", async () => {
    answers("read", {
      ...WINDOW,
      content: "x\ny",
      total_lines: 3,
      start_line: 1,
      end_line: 2,
      next_offset: 2,
    });
    expect(await backend.read("/a", -1.5, Number.NaN)).toEqual({
      content: "x\ny",
      mimeType: "text/markdown",
      totalLines: 3,
      startLine: 1,
      endLine: 2,
      nextOffset: 2,
    });
    expect(bodies()[0]).toMatchObject({ offset: 0, limit: 0 });
    answers("read", { ...WINDOW, bytes, media_type: "image/png" });
    expect(await backend.read("/a")).toEqual({ content: bytes, mimeType: "image/png" });
    expect(bodies()[1]).toMatchObject({ offset: 0, limit: 500 });
    answers("read", { ...WINDOW, bytes, media_type: "text/plain" });
    expect(await backend.read("/a.bin")).toEqual({
      error: "File '/a.bin' has binary content but text MIME type",
    });
    expect(await backend.readRaw("/a.bin")).toEqual({
      data: { content: bytes, mimeType: "text/plain", created_at: "c", modified_at: "m" },
    });
  });

  it("of long listings are asked for page by page", async () => {
    server.answers.set("/v1/files/ls", ({ cursor }) =>
      cursor === undefined
        ? { entries: [entry("/b")], next_cursor: "1" }
        : { entries: [entry("/a")] },
    );
    const { files } = await backend.ls("/");
    expect(files?.map(({ path }) => path)).toEqual(["/a", "/b"]);
    expect(bodies().map(({ cursor }) => cursor)).toEqual([undefined, "1"]);
  });

  it("of large uploads come from several requests, in the order of the files", async () => {
    server.answers.set("/v1/files/upload", ({ files }) => {
      const results = (files as { path: string }[]).map(({ path }) => ({ path, version: 1 }));
      return { results };
    });
    const large = new Uint8Array(10 << 20);
    const files = Array.from({ length: 1_205 }, (_, at): [string, Uint8Array] => {
      return [`/${at}`, at < 2 ? large : bytes];
    });
    const done = await backend.uploadFiles(files);
    expect(done.map(({ path }) => path)).toEqual(files.map(([path]) => path));
    expect(bodies().map((body) => (body["files"] as unknown[]).length)).toEqual([1, 1_000, 204]);
    expect(await backend.uploadFiles([])).toEqual([]);
    expect(server.seen).toHaveLength(3);
  });
});

describe("a file that comes back longer", () => {
  const history = new TextEncoder().encode("ü".repeat(10_000));
  const longer = new TextEncoder().encode(`${"ü".repeat(10_000)}more\n`);
  const sha256 = createHash("sha256").update(history).digest("hex");
  const calls = () => server.seen.map(({ path }) => path.split("/").at(-1));

  beforeEach(async () => {
    answers("download", { results: [{ path: "/h", bytes: history }] });
    answers("upload", { results: [{ path: "/h", version: 1 }] });
    answers("append", { path: "/h", version: 2 });
    await backend.downloadFiles(["/h"]);
  });

  it("sends what was added, again and again", async () => {
    expect(await backend.uploadFiles([["/h", longer]])).toEqual([{ path: "/h", error: null }]);
    const body = { path: "/h", content: "more\n", base_sha256: sha256 };
    expect(bodies()[1]).toMatchObject(body);
    const longest = new Uint8Array([...longer, 120]);
    await backend.uploadFiles([["/h", longest]]);
    expect(bodies()[2]).toMatchObject({ content: "x" });
    expect(calls()).toEqual(["download", "append", "append"]);
  });

  it("is sent whole where somebody else changed it, and from then on", async () => {
    server.faults = [{ status: 409, code: "base_mismatch" }];
    expect(await backend.uploadFiles([["/h", longer]])).toEqual([{ path: "/h", error: null }]);
    await backend.uploadFiles([["/h", longer]]);
    expect(calls()).toEqual(["download", "append", "upload", "upload"]);
    expect(bodies()[2]?.["files"]).toEqual([{ path: "/h", bytes: longer }]);
  });

  it.each<[string, Uint8Array]>([
    ["is shorter", history.subarray(0, 100)],
    ["is the same", history],
    ["ends with what is no text", new Uint8Array([...history, 255])],
  ])("is sent whole where it %s", async (_, sent) => {
    await backend.uploadFiles([["/h", sent]]);
    expect(calls()).toEqual(["download", "upload"]);
  });

  it("is not sent again where nobody knows whether it arrived", async () => {
    server.faults = [{ lost: "after" }];
    expect((await backend.uploadFiles([["/h", longer]]))[0]?.error).toMatch(/closed/);
    expect(calls()).toEqual(["download", "append"]);
  });

  it("and is short is sent whole", async () => {
    answers("download", { results: [{ path: "/h", bytes: history.subarray(0, 100) }] });
    await backend.downloadFiles(["/h"]);
    await backend.uploadFiles([["/h", longer]]);
    expect(calls()).toEqual(["download", "download", "upload"]);
  });
});

describe("a root", () => {
  it("is put before every path and taken from every answer", async () => {
    const rooted = new ThreadkeepBackend({ ...options, root: "/large/" });
    answers("ls", { entries: [entry("/large/a"), entry("/large/d/", true)] });
    expect((await rooted.ls("/")).files?.map(({ path }) => path)).toEqual(["/a", "/d/"]);
    answers("glob", { matches: [entry("/large/d/x")], truncated: false });
    expect((await rooted.glob("*", "/d")).files?.[0]?.path).toBe("/d/x");
    answers("grep", { matches: [{ path: "/large/a", line: 1, text: "" }], truncated: false });
    expect((await rooted.grep("")).matches?.[0]?.path).toBe("/a");
    answers("write", { path: "/large/a", version: 1, created: true });
    expect(await rooted.write("/a", "")).toEqual({ path: "/a", filesUpdate: null });
    answers("upload", { results: [{ path: "/large/a" }] });
    expect(await rooted.uploadFiles([["/a", bytes]])).toEqual([{ path: "/a", error: null }]);
    answers("download", { results: [{ path: "/large/a", bytes }] });
    expect((await rooted.downloadFiles(["/a"]))[0]?.path).toBe("/a");
    answers("delete", { deleted: 1 });
    await rooted.delete("/");
    expect(bodies().map(({ path }) => path)).toEqual([
      ...["/large", "/large/d", "/large", "/large/a", undefined, undefined, "/large"],
    ]);
    expect(bodies()[4]?.["files"]).toMatchObject([{ path: "/large/a" }]);
    expect(bodies()[5]?.["paths"]).toEqual(["/large/a"]);
  });

  it.each([
    ["no namespace", {}, /there is no namespace/],
    ["an empty one", { namespace: [] }, /cannot be empty/],
    ["a label with a period", { namespace: ["a.b"] }, /periods/],
    ["a root that is no path", { namespace: NS, root: "large" }, /root must begin/],
    ["an address that is none", { namespace: NS, url: "server" }, /url must be/],
  ])("or another option is refused at once: %s", (_, wrong, text) => {
    expect(() => new ThreadkeepBackend(wrong as never)).toThrow(text);
  });
});

describe("the protocol of deepagents 1.4", () => {
  it("has lines with numbers, long ones in pieces", async () => {
    const content = `one\n${"x".repeat(20_001)}\n\nfour`;
    answers("read", { ...WINDOW, content });
    const rows = (await old.read("/a")).split("\n");
    expect(rows.map((row) => row.slice(0, 9))).toEqual([
      "     1\ton",
      "     2\txx",
      "   2.1\txx",
      "   2.2\tx",
      "     3\t",
      "     4\tfo",
    ]);
    expect(await old.read("/a", 2, 1)).toBe("     3\t");
    expect(await old.read("/a", 4)).toBe("Error: Line offset 4 exceeds file length (4 lines)");
    answers("read", { ...WINDOW, content: " \n" });
    expect(await old.read("/a")).toBe("System reminder: File exists but has empty contents");
    answers("read", { ...WINDOW, bytes });
    expect(await old.read("/a")).toBe("Error: File '/a' is binary");
    expect(await old.readRaw("/a")).toMatchObject({ content: bytes });
    server.faults = [
      { status: 404, code: "file_not_found", problem: { detail: "File '/a' not found" } },
    ];
    await expect(old.readRaw("/a")).rejects.toThrow("File '/a' not found");
  });

  it("creates files and replaces none", async () => {
    answers("write", { path: "/a", version: 1, created: true });
    expect(await old.write("/a", "x")).toEqual({ path: "/a", filesUpdate: null });
    expect(bodies()[0]).toMatchObject({ if_version: 0 });
    server.faults = [{ status: 409, code: "version_conflict" }];
    expect((await old.write("/a", "x")).error).toMatch(/^Cannot write to \/a because it already/);
  });

  it("is told apart from the new one by its names", async () => {
    answers("ls", { entries: [entry("/a")] });
    answers("read", { ...WINDOW, content: "x" });
    answers("grep", { matches: [], truncated: false });
    for (const adapted of [adaptBackendProtocol(backend), adaptBackendProtocol(old)]) {
      expect((await adapted.ls("/")).files).toHaveLength(1);
      expect((await adapted.read("/a")).content).toMatch(/x$/);
      expect((await adapted.readRaw("/a")).data).toMatchObject({ modified_at: "m" });
      expect(await adapted.grep("x")).toEqual({ matches: [] });
    }
    expect((await adaptBackendProtocol(old).read("/a")).content).toBe("     1\tx");
  });
});
