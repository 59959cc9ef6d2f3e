/** The files calls of the native client, with a server that does as it is told. */

import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  BaseMismatchError,
  Client,
  InvalidError,
  NoSuchFileError,
  PathTakenError,
  ProtocolError,
  TooLargeError,
  VersionConflictError,
} from "../src/index.js";
import { FakeServer } from "./fake_server.js";

const ENTRY = { path: "/a.md", is_dir: false, size: 3, modified_at: "m", version: 4, later: 1 };
const NS = ["ann", "filesystem"];
const place = { namespace: NS, dialect: "javascript" };

let server: FakeServer;
let files: Client["files"];

beforeEach(() => {
  server = new FakeServer();
  files = new Client({ url: "http://server", fetch: server.fetch }).files;
});
afterEach(() => vi.useRealTimers());

function answers(call: string, answer: unknown): void {
  server.answers.set(`/v1/files/${call}`, () => answer);
}

const sent = () => server.seen.map(({ path, body }) => [path, body]);

describe("requests", () => {
  it("say what was asked for, and nothing else", async () => {
    answers("ls", { entries: [] });
    await files.ls(NS);
    await files.ls(NS, "/d/", { recursive: true, limit: 5, cursor: "c", dialect: "python" });
    answers("glob", { matches: [], truncated: false });
    await files.glob(NS, "*.md", { path: "/d", limit: 3 });
    answers("grep", { matches: [], truncated: false });
    await files.grep(NS, "tea", { path: "/d", glob: "*.md", maxCount: 0 });
    answers("move", { path: "/b", files: 1, version: 2 });
    await files.move(NS, "/a", "/b", { toNamespace: ["bob"], overwrite: true, ifVersion: 3 });
    const python = { ...place, dialect: "python" };
    expect(sent()).toEqual([
      ["/v1/files/ls", { ...place, path: "/" }],
      ["/v1/files/ls", { ...python, path: "/d/", recursive: true, limit: 5, cursor: "c" }],
      ["/v1/files/glob", { ...place, pattern: "*.md", path: "/d", limit: 3 }],
      ["/v1/files/grep", { ...place, pattern: "tea", path: "/d", glob: "*.md", max_count: 0 }],
      [
        "/v1/files/move",
        { ...place, from: "/a", to: "/b", to_namespace: ["bob"], overwrite: true, if_version: 3 },
      ],
    ]);
  });

  it("that change something have a key, the same in every attempt, and reads have none", async () => {
    vi.useFakeTimers();
    const changes: [string, unknown, () => Promise<unknown>][] = [
      [
        "write",
        { path: "/a", version: 1, created: true },
        () => files.write(NS, "/a", "x", { ifVersion: 0 }),
      ],
      [
        "append",
        { path: "/a", version: 2 },
        () => files.append(NS, "/a", "x", { baseSha256: "ab" }),
      ],
      [
        "edit",
        { path: "/a", version: 3, occurrences: 1 },
        () => files.edit(NS, "/a", { oldString: "x", newString: "y" }, { replaceAll: true }),
      ],
      ["delete", { deleted: 2 }, () => files.delete(NS, "/a")],
      [
        "upload",
        { results: [{ path: "/a", version: 5 }] },
        () => files.upload(NS, [{ path: "/a", bytes: new Uint8Array([0, 255]), mediaType: "x/y" }]),
      ],
      ["move", { path: "/b", files: 1 }, () => files.move(NS, "/a", "/b")],
      ["copy", { path: "/b", files: 1 }, () => files.copy(NS, "/a", "/b")],
    ];
    for (const [call, answer, change] of changes) {
      server.seen.length = 0;
      server.faults = [{ lost: "after" }, { status: 503, code: "overloaded" }];
      answers(call, answer);
      const changed = change();
      await vi.advanceTimersByTimeAsync(5_000);
      await changed;
      const keys = server.seen.map(({ headers }) => headers.get("idempotency-key"));
      expect(keys, call).toHaveLength(3);
      expect(keys[0], call).toBeTruthy();
      expect(new Set(keys).size, call).toBe(1);
      expect(server.seen[2]?.body).toEqual(server.seen[0]?.body);
    }
    expect(server.seen[0]?.body).toEqual({ ...place, from: "/a", to: "/b" });
    answers("stat", { entry: ENTRY });
    await files.stat(NS, "/a");
    expect(server.seen.at(-1)?.headers.get("idempotency-key")).toBeNull();
  });

  it.each([
    ["a path that is none", () => files.read(NS, 5 as never), "path"],
    ["half a pair in a label", () => files.write(["\ud800"], "/a", ""), "namespace"],
    ["no namespace", () => files.ls("ann" as never), "namespace"],
    [
      "text for bytes",
      () => files.upload(NS, [{ path: "/a", bytes: "x" as never }]),
      "files.bytes",
    ],
    ["no text", () => files.edit(NS, "/a", { oldString: "x" } as never), "newString"],
  ])("with %s are not sent", async (_, call, field) => {
    await expect(call()).rejects.toMatchObject({ name: InvalidError.name, field });
    expect(server.seen).toEqual([]);
  });
});

describe("half a surrogate pair", () => {
  const json = (text: string) => new TextEncoder().encode(JSON.stringify(text));

  it("travels as the JSON text of the string, in both directions", async () => {
    answers("edit", { path: json("/\ud800"), occurrences: 1, version: 1 });
    const replacement = { oldString: "\udc00", newString: "\ud83e\udd80" };
    expect((await files.edit(NS, "/\ud800", replacement)).path).toBe("/\ud800");
    expect(server.seen[0]?.body).toMatchObject({
      path: json("/\ud800"),
      old_string: json("\udc00"),
      new_string: "\u{1f980}",
    });
    answers("grep", {
      matches: [{ path: "/a", line: 1, text: json("a\ud800") }],
      truncated: false,
    });
    expect((await files.grep(NS, "\ud800")).matches[0]?.text).toBe("a\ud800");
    answers("grep", {
      matches: [{ path: new Uint8Array([1]), line: 1, text: "" }],
      truncated: false,
    });
    await expect(files.grep(NS, "")).rejects.toBeInstanceOf(ProtocolError);
  });
});

describe("answers", () => {
  it("have the names of JavaScript, and bytes as bytes", async () => {
    answers("ls", { entries: [ENTRY], next_cursor: "n" });
    const entry = { path: "/a.md", isDir: false, size: 3, modifiedAt: "m", version: 4 };
    expect(await files.ls(NS)).toEqual({ entries: [entry], nextCursor: "n" });
    const times = { created_at: "c", modified_at: "m", media_type: "text/plain" };
    const window = { ...times, encoding: "utf-8", version: 1, size: 1 };
    answers("read", { ...window, content: "x", total_lines: 9, start_line: 1, next_offset: null });
    const lines = await files.read(NS, "/a");
    expect(lines).toMatchObject({ content: "x", mediaType: "text/plain", totalLines: 9 });
    expect(lines).not.toHaveProperty("nextOffset");
    answers("read", { ...window, bytes: new Uint8Array([7]) });
    expect((await files.read(NS, "/a")).content).toEqual(new Uint8Array([7]));
    const found = { path: "/a", bytes: new Uint8Array([1]), sha256: "ab" };
    answers("download", { results: [found, { path: "/b", error: "file_not_found" }] });
    expect(await files.download(NS, ["/a", "/b"])).toEqual([
      found,
      { path: "/b", error: "file_not_found" },
    ]);
    answers("download", { results: [{ path: "/empty", bytes: new Uint8Array() }] });
    expect(await files.download(NS, ["/empty"])).toEqual([
      { path: "/empty", bytes: new Uint8Array() },
    ]);
  });

  it.each([
    ["no entries", "ls", {}, () => files.ls(NS)],
    ["an entry without a path", "ls", { entries: [{ ...ENTRY, path: 1 }] }, () => files.ls(NS)],
    ["no content", "read", { encoding: "utf-8" }, () => files.read(NS, "/a")],
    ["too few results", "download", { results: [] }, () => files.download(NS, ["/a"])],
    ["no count", "delete", {}, () => files.delete(NS, "/a")],
    ["no version", "write", { path: "/a", created: true }, () => files.write(NS, "/a", "")],
  ])("with %s are an error of the protocol", async (_, call, answer, ask) => {
    answers(call, answer);
    await expect(ask()).rejects.toBeInstanceOf(ProtocolError);
  });

  it.each([
    [404, "file_not_found", NoSuchFileError],
    [409, "base_mismatch", BaseMismatchError],
    [409, "file_exists", PathTakenError],
    [409, "version_conflict", VersionConflictError],
    [413, "value_too_large", TooLargeError],
    [422, "string_not_unique", InvalidError],
    [422, "invalid_path", InvalidError],
  ])("%s %s are typed, with the text of the server", async (status, code, kind) => {
    server.faults = [{ status, code, problem: { detail: "Error: its text" } }];
    const failed = files.edit(NS, "/a", { oldString: "a", newString: "b" });
    await expect(failed).rejects.toBeInstanceOf(kind);
    await expect(failed).rejects.toMatchObject({ code, detail: "Error: its text" });
  });

  it("of a download that are too much for one come from several", async () => {
    server.answers.set("/v1/files/download", ({ paths }) => {
      const results = (paths as string[]).map((path, at) => {
        if (path === "/absent") return { path, error: "file_not_found" };
        return at < 2
          ? { path, bytes: new Uint8Array([at]) }
          : { path, error: "too_large_for_batch" };
      });
      return { results };
    });
    const paths = ["/a", "/absent", "/b", "/c", "/d"];
    const found = await files.download(NS, paths);
    expect(found.map(({ path }) => path)).toEqual(paths);
    expect(found.map(({ error }) => error ?? "")).toEqual(["", "file_not_found", "", "", ""]);
    expect(server.seen.map(({ body }) => body["paths"])).toEqual([
      paths,
      ["/b", "/c", "/d"],
      ["/d"],
    ]);
    server.answers.set("/v1/files/download", ({ paths }) => ({
      results: (paths as string[]).map((path) => ({ path, error: "too_large_for_batch" })),
    }));
    expect((await files.download(NS, paths)).map(({ error }) => error)).toHaveLength(5);
    expect(server.seen).toHaveLength(4);
  });

  it("say undefined for a file that is not there, and for nothing else", async () => {
    server.faults = [{ status: 404, code: "file_not_found" }];
    expect(await files.stat(NS, "/a")).toBeUndefined();
    server.faults = [{ status: 404, code: "not_found" }];
    await expect(files.stat(NS, "/a")).rejects.toMatchObject({ code: "not_found" });
  });
});
