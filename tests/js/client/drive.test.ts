/** `client.drive` and `client.uploads` against the real server: the tree, signed addresses, and uploads that go on. */

import {
  Client,
  NotFoundError,
  UnauthorizedError,
  type UploadProgress,
  VersionConflictError,
} from "threadkeep";
import { beforeEach, describe, expect, it } from "vitest";
import { type Access, newAccess } from "../support/files.js";
import { expectRefusals } from "../support/refusals.js";
import { ENGINES } from "../support/servers.js";

const utf8 = (text: string) => new TextEncoder().encode(text);
/** Over 16 MiB: what is smaller is an item, and travels whole. */
const LARGE = Uint8Array.from({ length: (17 << 20) + 5 }, (_, at) => (at * 31 + (at >> 12)) % 256);
const PART = 5 << 20;
const WORKSPACE = ["ann", "workspace"];

async function bytesOf(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  return new Uint8Array(
    await new Response(stream as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer(),
  );
}

describe.each(ENGINES)("on %s", (engine) => {
  let access: Access;
  let client: Client;
  const subject = "ann";

  beforeEach(async () => {
    access = await newAccess(engine);
    client = new Client(access);
  });

  it("files are uploaded, listed as a tree, downloaded and deleted", async () => {
    const { drive } = client;
    const made = await drive.upload("/plots/a.txt", utf8("tea"), { subject });
    expect(made).toMatchObject({ path: "/plots/a.txt", name: "a.txt", isDir: false, size: 3 });
    expect(made.mediaType).toBe("text/plain");
    const png = new Blob([new Uint8Array([137, 80])], { type: "image/png" });
    expect(await drive.upload("/memories/b", png, { subject })).toMatchObject({
      ...{ size: 2, mediaType: "image/png" },
    });
    await drive.upload("/plots/deep/c", LARGE, { subject });
    const named = (entries: { path: string; isDir: boolean }[]) =>
      entries.map((it) => `${it.path}${it.isDir ? "/" : ""}`).toSorted();
    const top = await drive.list("/", { subject });
    expect(top.path).toBe("/");
    expect(named(top.entries)).toEqual(expect.arrayContaining(["/memories/", "/plots/"]));
    expect(named((await drive.list("/plots", { subject })).entries)).toEqual([
      "/plots/a.txt",
      "/plots/deep/",
    ]);
    const all: { path: string; isDir: boolean }[] = [];
    for await (const entry of drive.scan("/", { subject, recursive: true, pageEntries: 1 })) {
      all.push(entry);
    }
    expect(named(all)).toEqual(["/memories/b", "/plots/a.txt", "/plots/deep/c"]);
    const page = await drive.list("/plots", { subject, limit: 1 });
    expect(page.entries).toHaveLength(1);
    expect(page.nextCursor).toBeDefined();
    const found = await bytesOf(await drive.download("/plots/deep/c", { subject }));
    expect(Buffer.compare(found, LARGE)).toBe(0);
    const ofNamespace = await client.files.getContent(["ann", "filesystem"], "/b");
    expect([...ofNamespace]).toEqual([137, 80]);
    await drive.delete("/plots", { subject });
    await drive.delete("/plots", { subject });
    expect((await drive.list("/plots", { subject })).entries).toEqual([]);
    await expect(drive.download("/plots/a.txt", { subject })).rejects.toBeInstanceOf(NotFoundError);
  });

  it("a signed address opens one file without a key, until its token ends", async () => {
    const { token, tokenId } = await client.tokens.mint({ subject });
    const ann = new Client({ ...access, apiKey: token });
    await ann.drive.upload("/a.txt", utf8("one"));
    const address = await ann.drive.getUrl("/a.txt", { ttlSeconds: 60, download: true });
    expect(address.url.startsWith(`${access.url}/api/storage/open?u=`)).toBe(true);
    expect(address.expiresAt.getTime()).toBeLessThanOrEqual(Date.now() + 70_000);
    const answer = await fetch(address.url);
    expect(await answer.text()).toBe("one");
    expect(answer.headers.get("content-disposition")).toMatch(/^attachment/);
    const { version } = (await ann.files.stat(WORKSPACE, "/a.txt")) ?? {};
    const ofVersion = await ann.drive.getUrl("/a.txt", { version });
    await ann.drive.upload("/a.txt", utf8("two"));
    expect(await (await fetch(address.url)).text()).toBe("two");
    expect((await fetch(ofVersion.url)).status).toBe(404);
    await expect(ann.drive.getUrl("/none")).rejects.toBeInstanceOf(NotFoundError);
    await client.tokens.revoke({ tokenId });
    expect((await fetch(address.url)).status).toBe(401);
    await expect(ann.drive.list()).rejects.toBeInstanceOf(UnauthorizedError);
  });

  it("an upload that was aborted in the middle goes on, and its bytes are equal", async () => {
    const { uploads, files } = client;
    const controller = new AbortController();
    const reason = new Error("the person closed the lid");
    let last: UploadProgress | undefined;
    const aborted = uploads.send(WORKSPACE, "/film.bin", new Blob([LARGE]), {
      partSizeBytes: PART,
      signal: controller.signal,
      onProgress: (progress) => {
        last = progress;
        if (progress.sentBytes === 2 * PART) controller.abort(reason);
      },
    });
    await expect(aborted).rejects.toBe(reason);
    const uploadId = last?.uploadId ?? expect.fail("the upload did not begin");
    expect(last).toEqual({ uploadId, sentBytes: 2 * PART, totalBytes: LARGE.length });
    const found = await uploads.get(uploadId);
    expect(found?.parts.map(({ part, sizeBytes }) => [part, sizeBytes])).toEqual([
      [1, PART],
      [2, PART],
    ]);
    expect(found).toMatchObject({ isComplete: false, path: "/film.bin", namespace: WORKSPACE });
    expect(await files.stat(WORKSPACE, "/film.bin")).toBeUndefined();
    const puts: string[] = [];
    const counting = new Client({
      ...access,
      fetch: (input, init) => {
        if (init?.method === "PUT")
          puts.push(new URL(String(input)).pathname.split("/").at(-1) ?? "");
        return fetch(input, init);
      },
    });
    const told: number[] = [];
    const stored = await counting.uploads.send(WORKSPACE, "/film.bin", LARGE, {
      ...{ uploadId, mediaType: "video/mp4", ifVersion: 0 },
      onProgress: ({ sentBytes }) => told.push(sentBytes),
    });
    expect(puts).toEqual(["3", "4"]);
    expect(told).toEqual([0, PART, 2 * PART, 3 * PART, LARGE.length]);
    expect(stored).toMatchObject({ path: "/film.bin", sizeBytes: LARGE.length, created: true });
    expect(Buffer.compare(await files.getContent(WORKSPACE, "/film.bin"), LARGE)).toBe(0);
    expect((await files.stat(WORKSPACE, "/film.bin"))?.mediaType).toBe("video/mp4");
    const again = await uploads.send(WORKSPACE, "/film.bin", LARGE, { uploadId });
    expect(again.version).toBe(stored.version);
  });

  it("parts of another file, and a file that got shorter, are no file", async () => {
    const { uploads } = client;
    const uploadId = await uploads.begin(WORKSPACE, "/a.bin");
    await uploads.putPart(uploadId, 1, LARGE.subarray(0, PART));
    await uploads.putPart(uploadId, 2, LARGE.subarray(PART, 2 * PART));
    const other = LARGE.map((byte) => 255 - byte);
    const put = await uploads.send(WORKSPACE, "/a.bin", other, { uploadId });
    expect(put.sizeBytes).toBe(other.length);
    expect(Buffer.compare(await client.files.getContent(WORKSPACE, "/a.bin"), other)).toBe(0);
    const second = await uploads.begin(WORKSPACE, "/b.bin");
    await uploads.putPart(second, 1, LARGE.subarray(0, PART));
    await uploads.putPart(second, 2, LARGE.subarray(PART));
    await expectRefusals([
      [
        () => uploads.send(WORKSPACE, "/b.bin", LARGE.subarray(0, 5), { uploadId: second }),
        "parts",
      ],
      [() => uploads.send(WORKSPACE, "/other", LARGE, { uploadId: second }), "uploadId"],
    ]);
  });

  it("parts are put in any order, and an upload is completed once or aborted", async () => {
    const { uploads, files } = client;
    const uploadId = await uploads.begin(WORKSPACE, "/a.txt");
    const two = await uploads.putPart(uploadId, 2, new Blob([utf8("cake")]));
    const one = await uploads.putPart(uploadId, 1, utf8("tea and "));
    expect(one).toMatchObject({
      part: 1,
      sizeBytes: 8,
      sha256: expect.stringMatching(/^[\da-f]{64}$/),
    });
    const stored = await uploads.complete(uploadId, { parts: [one, two], ifVersion: 0 });
    const whole = await files.getContent(WORKSPACE, "/a.txt");
    expect(new TextDecoder().decode(whole)).toBe("tea and cake");
    expect(await uploads.complete(uploadId, { ifVersion: 0 })).toEqual(stored);
    await uploads.abort(uploadId);
    expect(await files.stat(WORKSPACE, "/a.txt")).toMatchObject({ version: stored.version });
    const dropped = await uploads.begin(WORKSPACE, "/b.txt");
    await uploads.abort(dropped);
    await uploads.abort(dropped);
    expect(await uploads.get(dropped)).toBeUndefined();
    await expect(uploads.putPart(dropped, 1, utf8("x"))).rejects.toBeInstanceOf(NotFoundError);
    const late = await uploads.begin(WORKSPACE, "/a.txt");
    await uploads.putPart(late, 1, utf8("x"));
    const taken = uploads.complete(late, { ifVersion: 0 });
    await expect(taken).rejects.toBeInstanceOf(VersionConflictError);
    expect(await uploads.send(WORKSPACE, "/empty", new Uint8Array())).toMatchObject({
      sizeBytes: 0,
    });
  });

  it("a file of up to 16 MiB is sent whole, and agents read it", async () => {
    const { uploads, files } = client;
    const told: UploadProgress[] = [];
    const blob = new Blob([utf8("tea\n")], { type: "text/plain" });
    const onProgress = (progress: UploadProgress) => told.push(progress);
    const stored = await uploads.send(WORKSPACE, "/notes.md", blob, { onProgress, ifVersion: 0 });
    expect(stored).toMatchObject({ sizeBytes: 4, created: true });
    expect(told.map((it) => it.sentBytes)).toEqual([0, 4]);
    expect(told.map((it) => it.uploadId)).toEqual([undefined, undefined]);
    expect(await files.read(WORKSPACE, "/notes.md")).toMatchObject({ content: "tea\n" });
    const taken = uploads.send(WORKSPACE, "/notes.md", utf8("x"), { ifVersion: 0 });
    await expect(taken).rejects.toBeInstanceOf(VersionConflictError);
    expect(await uploads.send(WORKSPACE, "/empty", new Uint8Array())).toMatchObject({
      sizeBytes: 0,
    });
  });

  it("a wrong argument is refused by its name", async () => {
    const { drive, uploads } = client;
    const id = await uploads.begin(WORKSPACE, "/a");
    await uploads.putPart(id, 2, utf8("x"));
    await expectRefusals([
      [() => drive.list("/", { subject, limit: 0 }), "limit"],
      [() => drive.list("/"), "subject"],
      [() => drive.scan("/", { subject, pageEntries: 0 }).next(), "pageEntries"],
      [() => drive.upload("/../a", utf8("x"), { subject }), "path"],
      [() => drive.upload("/a", "text" as never, { subject }), "bytes"],
      [() => drive.download("/a/../b", { subject }), "path"],
      [() => drive.delete("/../a", { subject }), "path"],
      [() => drive.getUrl("/a", { subject, ttlSeconds: 100_000 }), "seconds"],
      [() => uploads.begin(["a.b"], "/a"), "namespace"],
      [() => uploads.get(".."), "upload_id"],
      [() => uploads.putPart(id, 10_001, utf8("x")), "part"],
      [() => uploads.complete(id), "parts"],
      [() => uploads.abort(""), "upload_id"],
      [() => uploads.send(WORKSPACE, "/a", utf8("x"), { partSizeBytes: 0 }), "partSizeBytes"],
    ]);
    const gone = uploads.send(WORKSPACE, "/a", LARGE, { uploadId: `upl_${"0".repeat(32)}` });
    await expect(gone).rejects.toBeInstanceOf(NotFoundError);
  });
});
