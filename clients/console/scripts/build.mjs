/**
 * Builds the console into `dist`, or into the folder that is named:
 *
 *     npm run build -w clients/console
 *     node clients/console/scripts/build.mjs /tmp/console
 */

import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "vite";
import { sourcesDigest } from "./sources.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const outDir = process.argv[2] === undefined ? join(root, "dist") : resolve(process.argv[2]);
// A setting of the caller's would make another build.
process.env.NODE_ENV = "production";
await build({ root, logLevel: "warn", build: { outDir, emptyOutDir: true } });
writeFileSync(join(outDir, "SOURCES"), `${sourcesDigest()}\n`);
