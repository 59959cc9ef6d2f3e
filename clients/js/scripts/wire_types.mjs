/**
 * Makes the types of requests and answers from the OpenAPI document of MessagePack bodies: `--write` replaces the committed file, without it the
 * text is printed. In MessagePack bodies some fields are bytes, which the document marks with `x-msgpack: bin`.
 */
import { readFile, writeFile } from "node:fs/promises";
import openapiTypescript, { astToString } from "openapi-typescript";
import ts from "typescript";

const DOCUMENT = new URL("../../../openapi/openapi-msgpack.json", import.meta.url);
const TYPES = new URL("../src/wire/openapi.ts", import.meta.url);
const HEAD = `/** Types of requests and answers as MessagePack, made from the OpenAPI document by scripts/wire_types.mjs. */\n`;

export async function wireTypes() {
  const bytes = ts.factory.createTypeReferenceNode("Uint8Array");
  const text = ts.factory.createKeywordTypeNode(ts.SyntaxKind.StringKeyword);
  const either = ts.factory.createUnionTypeNode([text, bytes]);
  const forms = { bin: bytes, "str or bin": either };
  const ast = await openapiTypescript(JSON.parse(await readFile(DOCUMENT, "utf8")), {
    alphabetize: true,
    defaultNonNullable: false,
    transform: (schema) => forms[schema["x-msgpack"]],
  });
  return HEAD + astToString(ast);
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  const text = await wireTypes();
  if (process.argv.includes("--write")) await writeFile(TYPES, text);
  else process.stdout.write(text);
}
