/** The rules of the house that a program can check, for all TypeScript of the repository, and the generated types. */

import { readFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
// @ts-expect-error: a script without types
import { wireTypes } from "../scripts/wire_types.mjs";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const GENERATED = "clients/js/src/wire/openapi.ts";
const LINES_MAX = 400;
const EMPTY_NAMES = /(^|\/)(utils?|common|helpers?|types|manager|data|info|misc)(\.test)?\.\w+$/;

async function sources(): Promise<{ path: string; text: string }[]> {
  const found = [];
  for (const folder of [
    "clients/js",
    "tests/js",
    "examples/deepagents_memory_js",
    "examples/warm_sandbox",
  ]) {
    for (const name of await readdir(ROOT + folder, { recursive: true })) {
      const path = `${folder}/${name}`;
      if (!/\.(ts|mjs|js)$/.test(path) || /node_modules|\/dist\//.test(path)) continue;
      if (path !== GENERATED) found.push({ path, text: readFileSync(ROOT + path, "utf8") });
    }
  }
  return found;
}

describe("every file", async () => {
  const files = await sources();

  it("is found", () => {
    expect(files.length).toBeGreaterThan(30);
  });

  it.each(files)("$path says what it is for, ends in time and has a name", ({ path, text }) => {
    expect(text).toMatch(/^(#![^\n]*\n)?\/\*\*/);
    expect(text.split("\n").length).toBeLessThanOrEqual(LINES_MAX);
    expect(path).not.toMatch(EMPTY_NAMES);
  });
});

describe("the types of requests and answers", () => {
  it("are those of the server's document", async () => {
    expect(await readFile(ROOT + GENERATED, "utf8")).toBe(await wireTypes());
  });
});
