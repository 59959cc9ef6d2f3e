/** Each picture of the documents is one that `make screenshots` makes. The pixels are not compared: fonts differ between machines. */

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { PICTURES as FOLDER, ROOT } from "../support/settings.js";
import { PICTURES, takePictures } from "./pictures.js";

const KEPT = join(ROOT, "clients/console/docs");
const DOCUMENTS = ["README.md", "clients/console/README.md", "docs/guides/console.md"];
const ALL_BYTES_MAX = 1_000_000;
const PNG = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
const names = PICTURES.map(({ name }) => `${name}.png`).sort();

it("the command makes them all", async () => {
  const folder = FOLDER ?? mkdtempSync(join(tmpdir(), "tk-pictures-"));
  const files = await takePictures(folder);
  expect([...files.keys()].map((name) => `${name}.png`).sort()).toEqual(names);
  for (const [name, path] of files) {
    const bytes = readFileSync(path);
    expect(bytes.subarray(0, PNG.length), name).toEqual(PNG);
    expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)], name).toEqual([1_200, 750]);
  }
  expect(
    new Set([...files.values()].map((path) => readFileSync(path).toString("base64"))).size,
  ).toBe(names.length);
  if (FOLDER === undefined) rmSync(folder, { recursive: true });
});

it("those that are kept are the ones that it makes, and are small", () => {
  const kept = readdirSync(KEPT).sort();
  expect(kept).toEqual(names);
  const sizes = kept.map((name) => readFileSync(join(KEPT, name)).length);
  expect(sizes.reduce((all, one) => all + one, 0)).toBeLessThan(ALL_BYTES_MAX);
});

it("the documents name only these, and each is named", () => {
  const named = DOCUMENTS.flatMap((document) => {
    const text = readFileSync(join(ROOT, document), "utf8");
    return Array.from(text.matchAll(/!\[[^\]]+\]\(([^)]+\.png)\)/g), ([, path = ""]) =>
      join(ROOT, document, "..", path),
    );
  });
  expect([...new Set(named)].sort()).toEqual(names.map((name) => join(KEPT, name)));
});
