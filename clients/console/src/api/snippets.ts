/** Calls as code in three languages, with this server's address and never a credential. */

import { pythonLiteral, scriptLiteral, shellWord } from "../content/literals.js";
import type { Samples } from "../parts/code.js";
import { SERVER_URL } from "./server.js";

/** A call of the API: a body for POST, or parameters of a GET. */
export interface ApiCall {
  method: "GET" | "POST";
  path: string;
  query?: Record<string, string | readonly string[] | undefined>;
  body?: unknown;
  /** The answer is a text, not JSON. */
  isText?: boolean;
}

/** The same call with the clients. Without `python`, the Python sample calls the HTTP API, because the client has no such method yet. */
export interface Wording {
  typescript: string;
  python?: string | undefined;
}

/** A call with its wording. */
export interface Sampled extends Wording {
  call: ApiCall;
}

export function samplesOf(call: ApiCall, wording: Wording, server = SERVER_URL): Samples {
  return samplesOfAll([{ call, ...wording }], server);
}

/** Several calls, one after the other. */
export function samplesOfAll(all: readonly Sampled[], server = SERVER_URL): Samples {
  const expressions = all.flatMap(({ python }) => python ?? []);
  return {
    Python:
      expressions.length === all.length
        ? pythonClient(expressions, server)
        : pythonRequests(all, server),
    TypeScript: [
      'import { Client } from "threadkeep";',
      "",
      `const client = new Client({ url: ${scriptLiteral(server)} });`,
      ...all.map(({ typescript }) => `console.log(${typescript});`),
    ].join("\n"),
    curl: all.map(({ call }) => curlOf(call, server)).join("\n\n"),
  };
}

function pythonClient(expressions: readonly string[], server: string): string {
  return [
    "from threadkeep import Client",
    "",
    `with Client(${pythonLiteral(server)}) as client:`,
    ...expressions.map((expression) => `    print(${expression})`),
  ].join("\n");
}

function pythonRequests(all: readonly Sampled[], server: string): string {
  const imports = [
    ...(all.every(({ call }) => call.isText) ? [] : ["import json"]),
    "import os",
    "import urllib.request",
  ];
  return [imports.join("\n"), ...all.map(({ call }) => pythonRequest(call, server))].join("\n\n");
}

function pythonRequest(call: ApiCall, server: string): string {
  const data =
    call.body === undefined ? [] : [`    data=json.dumps(${pythonLiteral(call.body)}).encode(),`];
  const answer = "urllib.request.urlopen(request)";
  return [
    "request = urllib.request.Request(",
    `    ${pythonLiteral(server + pathOf(call))},`,
    ...data,
    '    headers={"authorization": f"Bearer {os.environ[\'THREADKEEP_API_KEY\']}", "content-type": "application/json"},',
    ")",
    call.isText ? `print(${answer}.read().decode())` : `print(json.load(${answer}))`,
  ].join("\n");
}

function curlOf(call: ApiCall, server: string): string {
  const lines = [
    `curl ${shellWord(server + pathOf(call))}`,
    '  -H "Authorization: Bearer $THREADKEEP_API_KEY"',
  ];
  if (call.body !== undefined) {
    lines.push(
      "  -H 'Content-Type: application/json'",
      `  -d ${shellWord(JSON.stringify(call.body))}`,
    );
  }
  return lines.join(" \\\n");
}

function pathOf({ path, query = {} }: ApiCall): string {
  const pairs = Object.entries(query).flatMap(([name, value]): [string, string][] => {
    if (value === undefined) return [];
    return typeof value === "string" ? [[name, value]] : value.map((one) => [name, one]);
  });
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs)}`;
}

/** A method of the client with its arguments; options that are undefined are left out. */
export function methodText(name: string, ...given: unknown[]): string {
  const list = given.filter((one) => !isEmpty(one)).map(scriptLiteralOf);
  return `await client.${name}(${list.join(", ")})`;
}

function scriptLiteralOf(value: unknown): string {
  return scriptLiteral(isPlain(value) ? defined(value) : value);
}

/** The same in Python, with the options as named arguments. */
export function pythonMethodText(
  name: string,
  positional: readonly unknown[],
  named: Record<string, unknown>,
): string {
  const list = [
    ...positional.map(pythonLiteral),
    ...Object.entries(defined(named)).map(([key, value]) => `${key}=${pythonLiteral(value)}`),
  ];
  return `client.${name}(${list.join(", ")})`;
}

export function defined(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
}

function isEmpty(value: unknown): boolean {
  return value === undefined || (isPlain(value) && Object.keys(defined(value)).length === 0);
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
