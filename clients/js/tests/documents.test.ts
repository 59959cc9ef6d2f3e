/** Values of items as text: the shared examples of all languages, and whatever fast-check makes up. */

import { readFileSync } from "node:fs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidError, ProtocolError } from "../src/errors.js";
import { base64Of, bytesOfBase64 } from "../src/wire/base64.js";
import { documentText, filterText } from "../src/wire/document_text.js";
import { documentOf, plainJson } from "../src/wire/document_value.js";
import { textOf } from "../src/wire/packing.js";

type Shown =
  | ["text" | "number" | "bytes", string]
  | ["list", Shown[]]
  | ["object", [string, Shown][]];
interface Vector {
  why: string;
  text: string;
  shown: Shown;
  only_read?: boolean;
}

const VECTORS = JSON.parse(
  readFileSync(new URL("../../../tests/vectors/documents.json", import.meta.url), "utf8"),
) as Vector[];

const utf8 = (text: string) => new TextEncoder().encode(text);
const written = (value: unknown) => textOf(documentText(value, "value"));
const read = (text: string) => documentOf(utf8(text), "bigint");

/** A value as the vectors describe it. */
function shown(value: unknown): Shown {
  if (value instanceof Uint8Array) return ["bytes", Buffer.from(value).toString("hex")];
  if (typeof value === "string") return ["text", value];
  if (Array.isArray(value)) return ["list", value.map(shown)];
  if (typeof value !== "object" || value === null) return ["number", String(value)];
  return ["object", Object.entries(value).map(([name, entry]) => [name, shown(entry)])];
}

/** The other way round. */
function made([kind, content]: Shown): unknown {
  if (kind === "object") {
    return Object.fromEntries(content.map(([name, entry]) => [name, made(entry)]));
  }
  if (kind === "list") return content.map(made);
  if (kind === "bytes") return new Uint8Array(Buffer.from(content, "hex"));
  if (kind === "text") return content;
  return String(Number(content)) === content ? Number(content) : BigInt(content);
}

describe("the shared examples", () => {
  it.each(VECTORS)("$why", (vector) => {
    expect(shown(read(vector.text))).toEqual(vector.shown);
    const again = written(made(vector.shown));
    expect(shown(read(again))).toEqual(vector.shown);
    if (!vector.only_read) expect(again).toBe(vector.text);
  });
});

const names = fc.constantFrom(
  "a",
  "b",
  "\0",
  "\ud800",
  "$threadkeep:bytes",
  "$$threadkeep:x",
  "__proto__",
);
const integers = fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n });
const value = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 4 },
    fc.constant(null),
    fc.boolean(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    // What JavaScript writes as itself comes back as a number, whatever it was.
    integers.map((it) => (String(Number(it)) === String(it) ? Number(it) : it)),
    fc.string({ unit: "binary" }),
    fc.stringMatching(/^[\\"0-9 -]{0,40}$/),
    fc.constantFrom("AQID", "$threadkeep:bytes", "\ud800"),
    fc.uint8Array({ maxLength: 9 }),
    fc.array(tie("any"), { maxLength: 3 }),
    fc.dictionary(names, tie("any"), { maxKeys: 3 }),
  ),
})).any;

describe("a value", () => {
  it("is read as it was written", () => {
    fc.assert(
      fc.property(fc.dictionary(names, value, { maxKeys: 3 }), (given) => {
        expect(read(written(given))).toEqual(given);
      }),
      { numRuns: 2_000 },
    );
  });

  it("keeps a whole number that no number holds, or rounds it if told so", () => {
    const text = '{"a":9007199254740993,"b":9007199254740992,"c":1e400,"d":-123456789012345678}';
    expect(read(text)).toEqual({
      a: 9007199254740993n,
      b: 9007199254740992,
      c: Number.POSITIVE_INFINITY,
      d: -123456789012345678n,
    });
    expect(documentOf(utf8(text), "number")["a"]).toBe(9007199254740992);
    expect(written({ a: 5n, b: 2n ** 70n })).toBe('{"a":5,"b":1180591620717411303424}');
  });

  it("is written as JSON.stringify does, where that harms nothing", () => {
    const given = {
      at: new Date(86_400_000),
      gone: undefined,
      list: [undefined, null, 1],
      boxed: [Object(1), Object("x"), Object(false)],
      own: new (class Own {
        field = 1;
      })(),
      form: { toJSON: () => ({ made: true }) },
      url: new URL("http://a/b"),
    };
    expect(written(given)).toBe(JSON.stringify(given));
    expect(written({ toJSON: () => ({ a: 1 }) })).toBe('{"a":1}');
  });

  const circle: Record<string, unknown> = {};
  circle["again"] = [circle, circle];
  it.each<[string, unknown, string]>([
    ["NaN", { a: { b: [Number.NaN] } }, "value.a.b[0] is NaN"],
    ["infinity", { a: Number.NEGATIVE_INFINITY }, "value.a is -Infinity"],
    ["a function", { a: () => 1 }, "value.a is a function"],
    ["a symbol", { a: [Symbol("x")] }, "value.a[0] is a symbol"],
    ["a Map", { a: new Map([[1, 2]]) }, "value.a is a Map"],
    ["a Set", { a: new Set([1]) }, "value.a is a Set"],
    ["an error", { a: new Error("x") }, "value.a is a Error"],
    ["a promise", { a: Promise.resolve(1) }, "value.a is a Promise"],
    ["a time that is none", { a: new Date(Number.NaN) }, "value.a is no valid time"],
    ["other bytes", { a: new Float32Array(2) }, "value.a holds bytes"],
    ["a buffer", { a: new ArrayBuffer(2) }, "value.a holds bytes"],
    ["a circle", circle, "goes on for ever"],
    ["a list", [1], "value is no object"],
    ["bytes alone", new Uint8Array(2), "value is no object"],
    ["a text", "x", "value is no object"],
    ["nothing", undefined, "value is no object"],
  ])("that holds %s is refused, by its place", (_, given, text) => {
    expect(() => documentText(given, "value")).toThrow(InvalidError);
    expect(() => documentText(given, "value")).toThrow(text);
  });

  it("that is not one is an error of the protocol", () => {
    for (const text of ["[]", "5", "{", ""]) expect(() => read(text)).toThrow(ProtocolError);
    expect(() => documentOf(new Uint8Array([0xff]), "bigint")).toThrow(ProtocolError);
  });
});

it("plain JSON keeps long whole numbers where asked, and takes nothing for bytes", () => {
  const text = '{"a":[1180591620717411303424,"1180591620717411303424"],"$threadkeep:bytes":"AAAA"}';
  const list = [2n ** 70n, "1180591620717411303424"];
  expect(plainJson(utf8(text), "bigint")).toEqual({ a: list, "$threadkeep:bytes": "AAAA" });
  expect(plainJson(utf8(text), "number")).toMatchObject({ a: [2 ** 70, list[1]] });
  expect(plainJson(utf8("1180591620717411303424"), "bigint")).toBe(2n ** 70n);
  const odd = plainJson(utf8('{"__proto__":{"a":12345678901234567890}}'), "bigint");
  expect(Object.entries(odd as object)).toEqual([["__proto__", { a: 12345678901234567890n }]]);
  expect(() => plainJson(utf8("{"), "bigint")).toThrow(ProtocolError);
});

describe("a filter", () => {
  const bytes = new Uint8Array([1, 2, 3]);
  it.each<[unknown, string | undefined]>([
    [undefined, undefined],
    [{}, undefined],
    [{ a: bytes }, '{"a":{"$eq":{"$threadkeep:bytes":"AQID"}}}'],
    [{ a: { $ne: bytes } }, '{"a":{"$ne":{"$threadkeep:bytes":"AQID"}}}'],
    [{ a: { b: bytes } }, '{"a":{"b":{"$eq":{"$threadkeep:bytes":"AQID"}}}}'],
    [{ a: [bytes] }, '{"a":[{"$threadkeep:bytes":"AQID"}]}'],
    [{ a: { $in: [{ "$threadkeep:bytes": "" }] } }, '{"a":{"$in":[{"$$threadkeep:bytes":""}]}}'],
    [
      { $or: [{ a: bytes }, { $not: { a: { $not: { $eq: 2n ** 70n } } } }] },
      '{"$or":[{"a":{"$eq":{"$threadkeep:bytes":"AQID"}}},{"$not":{"a":{"$not":{"$eq":1180591620717411303424}}}}]}',
    ],
    [{ $or: "no list", a: new Date(0) }, '{"$or":"no list","a":"1970-01-01T00:00:00.000Z"}'],
  ])("is written with bytes where a value can stand (%#)", (given, text) => {
    const made = filterText(given, "filter");
    expect(made && textOf(made)).toBe(text);
  });

  it("is refused where a condition would vanish", () => {
    for (const bad of [
      { a: undefined },
      { a: { $gt: undefined } },
      { $or: [undefined] },
      [],
      "x",
    ]) {
      expect(() => filterText(bad, "filter")).toThrow(InvalidError);
    }
  });
});

describe("base64", () => {
  it("is that of Node, for any bytes and any text", () => {
    for (const length of [0, 1, 2, 3, 4, 5, 0x7fff, 0x8000, 0x8001, 0x8002, 0x18001]) {
      const bytes = Uint8Array.from({ length }, (_, at) => (at * 7919) % 256);
      const text = Buffer.from(bytes).toString("base64");
      expect(base64Of(bytes) === text).toBe(true);
      expect(Buffer.compare(bytesOfBase64(text) as Uint8Array, bytes)).toBe(0);
    }
    fc.assert(
      fc.property(fc.stringMatching(/^[AQgwB9+/=]{0,9}$/), (text) => {
        const isMade = Buffer.from(text, "base64").toString("base64") === text;
        expect(bytesOfBase64(text) !== undefined).toBe(isMade);
      }),
      { numRuns: 2_000 },
    );
    const large = "A".repeat(32 << 20);
    expect(bytesOfBase64(large)).toHaveLength(24 << 20);
  });
});
