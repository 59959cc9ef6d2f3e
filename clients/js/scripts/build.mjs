/**
 * Builds `dist`: ES modules, and in `dist/cjs` the same as CommonJS. Each has declarations of its own, because the types of
 * LangChain's packages are others for `import` and for `require`.
 *
 *     npm run build
 */

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const DIST = join(PACKAGE, "dist");
// TypeScript takes the kind of a module from the nearest package.json, so CommonJS is compiled from a copy with one of its own.
const COPY = join(PACKAGE, "dist", "cjs_src");
const COMMONJS = `${JSON.stringify({ type: "commonjs" })}\n`;

const tsc = createRequire(import.meta.url).resolve("typescript/bin/tsc");
const compile = (...options) =>
  execFileSync(process.execPath, [tsc, ...options], { stdio: "inherit" });

rmSync(DIST, { recursive: true, force: true });
compile("-p", join(PACKAGE, "tsconfig.build.json"));

cpSync(join(PACKAGE, "src"), COPY, { recursive: true });
writeFileSync(join(COPY, "package.json"), COMMONJS);
writeFileSync(
  join(COPY, "tsconfig.json"),
  JSON.stringify({
    extends: "../../tsconfig.build.json",
    compilerOptions: {
      rootDir: ".",
      outDir: "../cjs",
      sourceMap: false,
      verbatimModuleSyntax: false,
      isolatedModules: true,
      noCheck: true,
    },
    include: ["."],
  }),
);
compile("-p", COPY);
rmSync(COPY, { recursive: true });
mkdirSync(join(DIST, "cjs"), { recursive: true });
writeFileSync(join(DIST, "cjs", "package.json"), COMMONJS);
