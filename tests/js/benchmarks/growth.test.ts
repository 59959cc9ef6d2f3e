/** The bench against the Postgres saver runs at a small size, reads back what it stored, and reports every figure. */

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ROOT } from "../support/settings.js";

interface Row {
  measure: string;
  threadkeep: number | string;
  reference: number | string;
  ratio: number;
}

const folder = mkdtempSync(join(tmpdir(), "tk-bench-"));
let rows: Map<string, Row>;

beforeAll(async () => {
  const report = join(folder, "rows.json");
  const options = ["--import", "tsx", `${ROOT}clients/js/bench/run.ts`, "--json", report];
  await promisify(execFile)(process.execPath, [...options, "--turns", "3", "--model-ms", "5"], {
    cwd: ROOT,
  });
  const found = JSON.parse(readFileSync(report, "utf8")) as Row[];
  rows = new Map(found.map((row) => [row.measure, row]));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("reads back equal on both sides", () => {
  const row = rows.get("messages read back equal");
  expect([row?.threadkeep, row?.reference]).toEqual(["true", "true"]);
});

it.each(["bytes on disk", "bytes on the wire", "bytes to the server", "bytes from the server"])(
  "counts %s of both sides",
  (measure) => {
    const row = rows.get(measure);
    // The reference stores the list again at every step: some 40 lists of up to 60 KB.
    expect(Number(row?.reference)).toBeGreaterThan(200_000);
    expect(Number(row?.threadkeep)).toBeGreaterThan(5_000);
    expect(row?.ratio).toBeLessThan(0.7);
  },
);

it("times a turn", () => {
  for (const measure of ["ms a turn, whole", "ms a turn, in memory"]) {
    expect(Number(rows.get(measure)?.threadkeep)).toBeGreaterThan(10);
  }
});
