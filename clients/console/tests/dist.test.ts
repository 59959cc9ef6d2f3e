/** What is committed in `dist` is what the sources build, and small. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { afterAll, describe, expect, it } from "vitest";
import { sourcesDigest } from "../scripts/sources.mjs";

const CONSOLE = fileURLToPath(new URL("..", import.meta.url));
const DIST = join(CONSOLE, "dist");
const KIB = 1_024;
const BUDGET = {
  firstLoadGzip: 170 * KIB,
  lazyGzip: 110 * KIB,
  allGzip: 500 * KIB,
  allRaw: 1.8 * KIB * KIB,
  files: 30,
};
const REBUILD = "build it again: npm run build -w clients/console";
const folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true });
});

function read(folder: string): Map<string, Buffer> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) =>
    one.isFile(),
  );
  const paths = entries.map((one) => join(one.parentPath, one.name)).sort();
  return new Map(paths.map((path) => [path.slice(folder.length + 1), readFileSync(path)]));
}

const committed = read(DIST);

it("the build is the same byte for byte", () => {
  const folder = mkdtempSync(join(tmpdir(), "tk-console-"));
  folders.push(folder);
  execFileSync(process.execPath, [join(CONSOLE, "scripts", "build.mjs"), folder], {
    // A setting of this test's runner would make another build.
    env: { PATH: process.env["PATH"] },
    cwd: tmpdir(),
  });
  const built = read(folder);
  expect([...built.keys()], REBUILD).toEqual([...committed.keys()]);
  const different = [...built].filter(([name, data]) => !committed.get(name)?.equals(data));
  expect(
    different.map(([name]) => name),
    REBUILD,
  ).toEqual([]);
});

it("SOURCES is the digest of the sources", () => {
  expect(committed.get("SOURCES")?.toString(), REBUILD).toBe(`${sourcesDigest()}\n`);
});

it("nothing in it names a place of the machine that built it, a registry or another server", () => {
  for (const [name, data] of committed) {
    const text = data.toString();
    expect(text.includes(CONSOLE), name).toBe(false);
    expect(text, name).not.toMatch(/registry\.npmjs|sourceMappingURL/);
  }
  expect(committed.get("index.html")?.toString()).not.toMatch(
    /https?:|\/\/|style=|<style|<script>/,
  );
});

describe("budget", () => {
  const gzipped = (name: string) => gzipSync(committed.get(name) ?? "", { level: 9 }).length;
  const sum = (sizes: number[]) => sizes.reduce((all, one) => all + one, 0);
  const names = [...committed.keys()];
  const page = committed.get("index.html")?.toString() ?? "";
  const first = ["index.html", ...names.filter((name) => page.includes(name))];

  it("the first page loads little", () => {
    expect(first.length).toBeGreaterThanOrEqual(3);
    expect(sum(first.map(gzipped))).toBeLessThanOrEqual(BUDGET.firstLoadGzip);
  });

  it("what is loaded later is small, too", () => {
    for (const name of names.filter((one) => !first.includes(one))) {
      expect(gzipped(name), name).toBeLessThanOrEqual(BUDGET.lazyGzip);
    }
  });

  it("all of it", () => {
    expect(sum(names.map(gzipped))).toBeLessThanOrEqual(BUDGET.allGzip);
    expect(sum([...committed.values()].map((data) => data.length))).toBeLessThanOrEqual(
      BUDGET.allRaw,
    );
    expect(names.length).toBeLessThanOrEqual(BUDGET.files);
  });
});
