/** The text of one value inside of JSON text is found as it stands there. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { jsonItems, jsonTextAt } from "../src/wire/json_text.js";

it("numbers and escapes stay as they are written", () => {
  const text = '{"a": [1, {"b]": "x\\"}", "c": 1.0}], "d" : 1180591620717411303424 }';
  expect(jsonTextAt(text, ["a", 1, "c"])).toBe("1.0");
  expect(jsonTextAt(text, ["a", 0])).toBe("1");
  expect(jsonTextAt(text, ["a", 1, "b]"])).toBe('"x\\"}"');
  expect(jsonTextAt(text, ["d"])).toBe("1180591620717411303424");
  expect(jsonTextAt(text, ["a", 1])).toBe('{"b]": "x\\"}", "c": 1.0}');
});

it("what is not there is undefined", () => {
  for (const way of [["b"], ["a", 2], ["a", "0"], ["a", 0, 0], ["a", 0, "x"]]) {
    expect(jsonTextAt('{"a":[1,2]}', way), String(way)).toBeUndefined();
  }
  expect(jsonTextAt('{"a":[]}', ["a", 0])).toBeUndefined();
  expect(jsonTextAt("{}", ["a"])).toBeUndefined();
});

it("the items of a list are texts", () => {
  expect(jsonItems(' [ 1.0 , "],", {"a":[1]},[] ] ')).toEqual(["1.0", '"],"', '{"a":[1]}', "[]"]);
  expect(jsonItems("[]")).toEqual([]);
  expect(jsonItems('[["a"]]')).toEqual(['["a"]']);
  expect(() => jsonItems("{}")).toThrow("no list");
  expect(() => jsonItems("")).toThrow("no list");
  expect(() => jsonItems("[1")).toThrow("not JSON");
});

it("finds every value of any JSON", () => {
  const check = (value: unknown, way: (string | number)[], text: string) => {
    expect(JSON.parse(jsonTextAt(text, way) ?? "none")).toEqual(value);
    if (Array.isArray(value)) {
      for (const [at, one] of value.entries()) check(one, [...way, at], text);
    } else if (typeof value === "object" && value !== null) {
      for (const [name, one] of Object.entries(value)) check(one, [...way, name], text);
    }
  };
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(undefined, 1), (value, indent) => {
      check(value, [], JSON.stringify(value, null, indent));
    }),
  );
});
