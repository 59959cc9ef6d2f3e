/** Code samples of one call, and of several calls of a page. */

import { beforeAll, expect, it, vi } from "vitest";
import type { Sampled } from "../src/api/snippets.js";

const SERVER = "http://server";
let samplesOf: typeof import("../src/api/snippets.js").samplesOf;
let samplesOfAll: typeof import("../src/api/snippets.js").samplesOfAll;
const LIST: Sampled = {
  call: { method: "POST", path: "/v1/list", body: { kind: "a" } },
  typescript: "await client.list()",
  python: "client.list()",
};
const KINDS: Sampled = {
  call: { method: "GET", path: "/v1/kinds", query: { limit: "2" } },
  typescript: "await client.kinds()",
};

beforeAll(async () => {
  // The page tells where the server is.
  vi.stubGlobal("window", { location: new URL("http://127.0.0.1:7070/console/") });
  ({ samplesOf, samplesOfAll } = await import("../src/api/snippets.js"));
});

it("several calls share their first lines", () => {
  const both = samplesOfAll([LIST, { ...KINDS, python: "client.kinds()" }], SERVER);
  expect(both["Python"]).toBe(
    [
      "from threadkeep import Client",
      "",
      'with Client("http://server") as client:',
      "    print(client.list())",
      "    print(client.kinds())",
    ].join("\n"),
  );
  expect(both["TypeScript"]?.split("\n").slice(-2)).toEqual([
    "console.log(await client.list());",
    "console.log(await client.kinds());",
  ]);
  expect(both["curl"]?.match(/^curl /gm)).toHaveLength(2);
});

it("all calls are requests in Python where the client lacks one of them", () => {
  const python = samplesOfAll([LIST, KINDS], SERVER)["Python"] ?? "";
  expect(python.match(/^import json$/gm)).toHaveLength(1);
  expect(python.match(/^ {4}"http:\/\/server\/v1\/(list|kinds\?limit=2)",$/gm)).toHaveLength(2);
  expect(python.match(/^print\(/gm)).toHaveLength(2);
  expect(python).not.toContain("threadkeep import");
});

it("one call is what it is alone", () => {
  const { call, ...wording } = LIST;
  expect(samplesOf(call, wording, SERVER)).toEqual(samplesOfAll([LIST], SERVER));
  const text = samplesOf({ ...call, isText: true }, { typescript: "x" }, SERVER)["Python"];
  expect(text).not.toContain("import json");
});
