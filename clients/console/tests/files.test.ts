/** Files are edited without a change that nobody typed, and an address of Files names one namespace and path. */

import fc from "fast-check";
import { type Identity, label } from "threadkeep";
import { describe, expect, it } from "vitest";
import type { FilesRoute } from "../src/app/route.js";
import { contentOf, EDIT_BYTES_MAX, editableOf } from "../src/nouns/files/file_text.js";
import { bare, folderOf, spotOf } from "../src/nouns/files/spot.js";
import { namespacesOf, sessionsOf } from "../src/nouns/snapshots/named_things.js";
import { grantName } from "../src/nouns/snapshots/snapshot_things.js";

const encode = (text: string) => new TextEncoder().encode(text);

/** What a field of a page makes of line ends. */
const normalized = (text: string) => text.replace(/\r\n?/g, "\n");

describe("the text of a file", () => {
  it("goes through a field and back without a change, or is not edited", () => {
    const part = fc.constantFrom("a", "é", "\n", "\r\n", "\r", "\ufeff", "\0", "\u2028");
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const text = parts.join("");
        const found = editableOf(encode(text));
        if (found) {
          expect(normalized(found.text)).toBe(found.text);
          expect(contentOf(found.text, found.lineEnd)).toBe(text);
        }
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ["mixed line ends", encode("a\r\nb\n")],
    ["old line ends", encode("a\rb")],
    ["NUL", encode("a\0")],
    ["bytes that are no UTF-8", new Uint8Array([0xff, 0xfe])],
    ["too much", encode("a".repeat(EDIT_BYTES_MAX + 1))],
  ])("%s is not edited", (_, bytes) => {
    expect(editableOf(bytes)).toBeUndefined();
  });

  it.each([
    ["", "\n"],
    ["a\nb", "\n"],
    ["\ufeffa\r\nb\r\n", "\r\n"],
  ])("%j is edited", (text, lineEnd) => {
    expect(editableOf(encode(text))?.lineEnd).toBe(lineEnd);
  });
});

describe("the place of a file", () => {
  const ann = { tenant: "t", credential: "c", subject: "ann.b", label: label("ann.b") } as Identity;
  const drive = (path: string, subject?: string): FilesRoute => ({
    ...{ page: "files", place: "drive", namespace: [], path },
    ...(subject === undefined ? {} : { subject }),
  });

  it.each([
    ["/a.md", ["ann~2eb", "workspace"], "/a.md"],
    ["/", ["ann~2eb", "workspace"], "/"],
    ["/workspace/in/a.md", ["ann~2eb", "workspace"], "/in/a.md"],
    ["/workspace/", ["ann~2eb", "workspace"], "/"],
    ["/memories/a.md", ["ann~2eb", "filesystem"], "/a.md"],
    ["/memory/a.md", ["ann~2eb", "filesystem"], "/a.md"],
    ["/threads/t1/x/a.md", ["ann~2eb", "threads", "t1", "artifacts"], "/x/a.md"],
    ["/threads/t1/", ["ann~2eb", "threads", "t1", "artifacts"], "/"],
    ["/threadsx/a", ["ann~2eb", "workspace"], "/threadsx/a"],
  ])("%s of a drive", (path, namespace, key) => {
    expect(spotOf(drive(path), ann)).toEqual({ namespace, path: key });
  });

  it("no file is in the list of namespaces, or in the folder of all threads", () => {
    expect(spotOf(drive("/threads/"), ann)).toBeUndefined();
    expect(spotOf({ ...drive("/"), place: "namespaces" }, ann)).toBeUndefined();
    expect(spotOf(drive("/"), { tenant: "t", credential: "c" } as Identity)).toBeUndefined();
    expect(spotOf(drive("/", "eve"), { tenant: "t", credential: "c" } as Identity)).toEqual({
      ...{ namespace: ["eve", "workspace"], path: "/" },
    });
  });

  it("a folder is above its files", () => {
    expect(["/a", "/a/", "/a/b", "/a/b/", "/"].map(folderOf)).toEqual([
      "/",
      "/",
      "/a/",
      "/a/",
      "/",
    ]);
    expect(["/a", "/a/", "/"].map(bare)).toEqual(["/a", "/a", "/"]);
  });
});

it("the things of a snapshot are read line by line", () => {
  expect(namespacesOf(" ann/notes \n\n/bob/ ")).toEqual([["ann", "notes"], ["bob"]]);
  expect(sessionsOf("claude/work/a\nclaude\n")).toEqual([{ kind: "claude", key: ["work", "a"] }]);
  expect(grantName("claude", ["a/b", "%", "c"])).toBe("claude:a%2Fb/%25/c");
});
