/**
 * Makes `api.ts`, the types of every request and answer, from the document that a running server serves:
 * `node generate.mjs FOLDER`, with THREADKEEP_URL.
 */
import { writeFile } from "node:fs/promises";
import openapiTypescript, { astToString } from "openapi-typescript";
import ts from "typescript";

const [folder = "."] = process.argv.slice(2);
const document = new URL("/openapi.json", process.env.THREADKEEP_URL ?? "http://127.0.0.1:7070");
const blob = ts.factory.createTypeReferenceNode("Blob");
const ast = await openapiTypescript(document, {
  // Raw bytes are text to the generator unless it is told.
  transform: (schema) => (schema.format === "binary" ? blob : undefined),
});
await writeFile(`${folder}/api.ts`, astToString(ast));
