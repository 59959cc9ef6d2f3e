/** openapi-typescript reads the committed documents: it says nothing but what it made, and no operation is left out. */

import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { promisify } from "node:util";
import { afterAll, expect, it } from "vitest";
import { cleanEnvironment, ROOT } from "../support/settings.js";

const folder = mkdtempSync(`${ROOT}target/warnings-`);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Document {
  paths: Record<string, Record<string, { operationId: string }>>;
}

it.each(["openapi.json", "openapi-msgpack.json", "agentrail.json"])(
  "%s gives no warning",
  async (name) => {
    const path = `${ROOT}openapi/${name}`;
    const document = JSON.parse(readFileSync(path, "utf8")) as Document;
    const program = `${ROOT}node_modules/openapi-typescript/bin/cli.js`;
    const env = { ...cleanEnvironment(), NO_COLOR: "1" } as NodeJS.ProcessEnv;

    const made = await promisify(execFile)(
      process.execPath,
      [program, path, "--output", `${folder}/api.ts`],
      { cwd: folder, env },
    );

    const said = `${made.stdout}${made.stderr}`.trim().split("\n");
    expect(said.filter((line) => !/^✨ openapi-typescript |^🚀 /u.test(line))).toEqual([]);
    const types = readFileSync(`${folder}/api.ts`, "utf8");
    const operations = Object.values(document.paths).flatMap((item) => Object.values(item));
    const missing = operations.filter((it) => !types.includes(`    ${it.operationId}: {`));
    expect(missing.map((it) => it.operationId)).toEqual([]);
  },
);
