/** Searches in files: where a result is in the tree that the page shows, and its line. */

import type { Identity } from "threadkeep";
import { expect, it } from "vitest";
import { addressOf, type FilesRoute, routeOf } from "../src/app/route.js";
import { linesAround } from "../src/nouns/files/lines.js";
import { shownPath, spotOf } from "../src/nouns/files/spot.js";

const IDENTITY = { tenant: "t", credential: "local" } as Identity;

function found(route: FilesRoute, path: string): string | undefined {
  const spot = spotOf(route, IDENTITY);
  return spot && shownPath(route, spot, path);
}

it("a result of a drive leads to the file in the drive", () => {
  const drive = {
    page: "files",
    place: "drive",
    namespace: [] as string[],
    subject: "ann",
  } as const;
  expect(found({ ...drive, path: "/memories/a/" }, "/a/b.md")).toBe("/memories/a/b.md");
  expect(found({ ...drive, path: "/memories/" }, "/a/b.md")).toBe("/memories/a/b.md");
  expect(found({ ...drive, path: "/threads/t1/" }, "/b.md")).toBe("/threads/t1/b.md");
  expect(found({ ...drive, path: "/workspace/src/" }, "/src/b.md")).toBe("/workspace/src/b.md");
  expect(found({ ...drive, path: "/src/" }, "/src/b.md")).toBe("/src/b.md");
  expect(found({ ...drive, path: "/threads/" }, "/b.md")).toBeUndefined();
});

it("a result of a namespace is its own path", () => {
  const route = { page: "files", place: "namespace", namespace: ["a"], path: "/x/" } as const;
  expect(found({ ...route, namespace: ["a"] }, "/x/y/b.md")).toBe("/x/y/b.md");
});

it("the search and the line stand in the address", () => {
  const address = "#/files/ns/a?path=%2Fx%2F&glob=*.md&grep=a%20b%3F";
  const route = routeOf(address);
  expect(route).toMatchObject({ path: "/x/", glob: "*.md", grep: "a b?" });
  expect(addressOf(route)).toBe(address);
});

it("a line is shown with those around it, counted as the server counts", () => {
  const text = Array.from({ length: 20 }, (_, at) => `line ${at + 1}`).join("\n");
  const shown = linesAround(text, 10);
  expect(shown.map(({ number }) => number)).toEqual([5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
  expect(shown[5]).toEqual({ number: 10, text: "line 10" });
  expect(linesAround(text, 1)[0]).toEqual({ number: 1, text: "line 1" });
  expect(linesAround(text, 20).at(-1)).toEqual({ number: 20, text: "line 20" });
  expect(linesAround("a\rb\r\nc", 2)).toEqual([
    { number: 1, text: "a\rb" },
    { number: 2, text: "c" },
  ]);
  for (const line of [0, -1, 21, 1.5, Number.NaN]) expect(linesAround(text, line)).toEqual([]);
});
