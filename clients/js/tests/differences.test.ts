/** Differences alone: made, applied, refused. The rules are those of clients/PROTOCOL.md, "Values in short forms". */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ProtocolError } from "../src/errors.js";
import { likeness, matches, type Piece } from "../src/langgraph/blocks.js";
import {
  applied,
  between,
  DoesNotFitError,
  endsOf,
  OPS_MAX,
  ofWire,
  toWire,
} from "../src/langgraph/differences.js";
import { bytesOfName, nameByWebCrypto, nameOf, nameOfBytes } from "../src/wire/digest.js";
import { packed, unpacked } from "../src/wire/packing.js";
import { bytes, joined, json, noise } from "./values_made.js";

const small = fc.uint8Array({ maxLength: 400 });
/** Bytes of few letters, so that much is equal somewhere. */
const letters = fc
  .array(fc.constantFrom(97, 98), { maxLength: 300 })
  .map((it) => Uint8Array.from(it));

function made(base: Uint8Array, value: Uint8Array): Piece[] | undefined {
  return between(base, value, endsOf(base, value));
}

/** The bytes of the difference as it travels; it must exist, keep the rules and give the value back. */
async function checked(base: Uint8Array, value: Uint8Array): Promise<number> {
  const pieces = made(base, value);
  if (!pieces) throw new Error("there is no difference");
  await keepsTheRules(base, value, pieces);
  const wire = toWire(await nameOf(base), pieces, value, await nameOf(value));
  const travelled = packed(wire);
  const { pieces: arrived, length } = ofWire(unpacked(travelled) as typeof wire);
  expect(isSame(await applied(base, arrived, length, await nameOf(value)), value)).toBe(true);
  return travelled.length;
}

async function keepsTheRules(base: Uint8Array, value: Uint8Array, pieces: Piece[]): Promise<void> {
  expect(pieces.length).toBeLessThanOrEqual(OPS_MAX);
  let sum = 0;
  for (const piece of pieces) {
    if (!(piece instanceof Uint8Array)) {
      expect(piece[0]).toBeGreaterThanOrEqual(0);
      expect(piece[0] + piece[1]).toBeLessThanOrEqual(base.length);
    }
    const length = piece instanceof Uint8Array ? piece.length : piece[1];
    expect(length).toBeGreaterThan(0);
    sum += length;
  }
  expect(sum).toBe(value.length);
  expect(isSame(await applied(base, pieces, value.length, await nameOf(value)), value)).toBe(true);
}

/** The matcher of the test runner takes seconds for some hundred kilobytes. */
function isSame(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}

function texts(count: number, from = 0): string[] {
  return Array.from({ length: count }, (_, seed) => {
    return Buffer.from(noise(225, seed + from)).toString("base64");
  });
}

describe("a difference", () => {
  it.each([3, 14, 15, 16, 300])(
    "of a JSON list of %d that grows costs what was added",
    async (count) => {
      const [base, value] = [json(texts(count)), json(texts(count + 1))];
      const added = value.length - base.length;
      expect(await checked(base, value)).toBeLessThan(added + 200);
    },
  );

  it("of a MessagePack list costs what was added, also where its header grows", async () => {
    for (const count of [14, 15, 16, 65_535]) {
      const entries = Array.from({ length: count + 1 }, (_, seed) =>
        noise(count > 100 ? 5 : 700, seed),
      );
      const [base, value] = [packed(entries.slice(0, -1)), packed(entries)];
      expect(await checked(base, value)).toBeLessThan(1_000);
      expect(endsOf(base, value).prefix).toBeGreaterThanOrEqual(base.length - 5);
    }
  });

  it("of a list that loses its first entries costs next to nothing", async () => {
    expect(await checked(json(texts(40)), json(texts(33, 7)))).toBeLessThan(200);
  });

  it("of a change in the middle costs the change", async () => {
    const entries = texts(40);
    entries[20] = "another";
    expect(await checked(json(texts(40)), json(entries))).toBeLessThan(250);
  });

  it("of sends that repeat a list costs what is around it", async () => {
    const messages = texts(60);
    const sends = [0, 1, 2, 3, 4].map((tool) => ({ node: "tools", args: { tool, messages } }));
    const value = json(sends);
    expect(await checked(json(messages), value)).toBeLessThan(value.length / 50);
  });

  it("of entries in another order finds them one by one", async () => {
    const entries = texts(60);
    const value = json([...entries].reverse());
    expect(await checked(json(entries), value)).toBeLessThan(value.length / 4);
  });

  it("of values with nothing in common is none", () => {
    expect(made(noise(5_000, 0), noise(5_000, 1))).toBeUndefined();
    expect(made(new Uint8Array(0), noise(600, 1))).toBeUndefined();
    expect(made(noise(600, 1), new Uint8Array(0))).toBeUndefined();
  });

  it("of many small parts stays within the limit of pieces", async () => {
    const base = noise(200_000, 1);
    const parts = Array.from({ length: 2_900 }, (_, at) => {
      return joined([base.subarray(at * 64, at * 64 + 64), noise(16, at)]);
    });
    const value = joined(parts.reverse());
    const pieces = made(base, value);
    if (pieces) await keepsTheRules(base, value, pieces);
  });

  it("gives the value back, whatever it is made of", async () => {
    const heads = [[], [0x91], [0xdc, 0, 0x10], [0xdd, 0, 1, 0, 0], [0xdc]].map(bytes);
    const head = fc.constantFrom(...heads);
    const cut = fc.integer({ min: 0, max: 400 });
    await fc.assert(
      fc.asyncProperty(small, cut, cut, small, head, async (base, one, other, added, front) => {
        const [low, high] = [Math.min(one, other), Math.max(one, other)];
        const rest = base.subarray(high);
        const value = joined([front, base.subarray(0, low), added, rest, rest]);
        const whole = joined([front, base]);
        const ends = endsOf(whole, value);
        expect(ends.prefix + ends.suffix).toBeLessThanOrEqual(value.length - ends.header);
        const pieces = between(whole, value, ends);
        if (pieces) await keepsTheRules(whole, value, pieces);
      }),
    );
  });

  it("has ends that are as long as they can be", () => {
    fc.assert(
      fc.property(letters, letters, (base, value) => {
        const { prefix, suffix } = endsOf(base, value);
        const shorter = Math.min(base.length, value.length);
        expect(base.subarray(0, prefix)).toEqual(value.subarray(0, prefix));
        expect(prefix === shorter || base[prefix] !== value[prefix]).toBe(true);
        expect(base.subarray(base.length - suffix)).toEqual(value.subarray(value.length - suffix));
        const isLongest = base.at(-suffix - 1) !== value.at(-suffix - 1);
        expect(prefix + suffix === shorter || isLongest).toBe(true);
      }),
    );
  });
});

describe("blocks found anywhere", () => {
  it("give the value back", () => {
    const spans = fc.array(fc.tuple(fc.nat(400), fc.nat(400), small), { maxLength: 8 });
    fc.assert(
      fc.property(fc.oneof(small, letters), spans, fc.nat(1_000), (base, found, from) => {
        const parts = found.flatMap(([at, end, added]) => [
          base.subarray(at, end),
          added.subarray(0, 20),
        ]);
        const value = joined(parts);
        const start = Math.min(from, value.length);
        const pieces = matches(base, value, start, value.length, 1_000);
        const got = pieces.map((it) =>
          it instanceof Uint8Array ? it : base.subarray(it[0], it[0] + it[1]),
        );
        expect(joined(got)).toEqual(value.slice(start));
      }),
    );
  });

  it("are counted where they are, and nowhere else", () => {
    const [one, other] = [noise(4_000, 1), noise(4_000, 2)];
    expect(likeness(one, joined([other, one, other]))).toBe(12);
    expect(likeness(one, other)).toBe(0);
    expect(likeness(one, one.slice(0, 2_000))).toBeGreaterThan(3);
    expect(likeness(noise(31, 1), noise(31, 1))).toBe(0);
  });
});

describe("a difference of an answer", () => {
  it("is refused when it does not fit", async () => {
    const base = new TextEncoder().encode("hello world");
    const name = await nameOf(base.subarray(0, 5));
    expect(await applied(base, [[0, 5]], 5, name)).toEqual(base.slice(0, 5));
    const wrong: [Piece[], number][] = [
      [[[0, 5]], 4],
      [[[7, 5]], 5],
      [[[-5, 5]], 5],
      [
        [
          [0, -1],
          [0, 6],
        ],
        5,
      ],
      [[[1, 5]], 5],
      [[new TextEncoder().encode("hellx")], 5],
    ];
    for (const [pieces, length] of wrong) {
      await expect(applied(base, pieces, length, name)).rejects.toThrow(DoesNotFitError);
    }
  });

  it("of another shape is an error of the protocol", () => {
    const about = { base: bytes([1]), sha256: bytes([1]), length: 1 };
    const read = (op: unknown) => ofWire({ ...about, ops: [op] } as Parameters<typeof ofWire>[0]);
    expect(read({ copy: [0, 5] }).pieces).toEqual([[0, 5]]);
    expect(read({ insert: bytes([7]) }).pieces).toEqual([bytes([7])]);
    for (const op of [
      { move: 1 },
      { copy: [0] },
      { copy: ["0", 5] },
      { insert: 5_000 },
      { copy: [1.5, 2] },
      1,
    ]) {
      expect(() => read(op)).toThrow(ProtocolError);
    }
  });
});

describe("a name", () => {
  it("is the SHA-256, by whichever way", async () => {
    await fc.assert(
      fc.asyncProperty(small, async (data) => {
        const name = await nameOf(data);
        expect(name).toBe(await nameByWebCrypto(data));
        expect(nameOfBytes(bytesOfName(name))).toBe(name);
      }),
    );
    const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    expect(Buffer.from(bytesOfName(await nameOf(new Uint8Array(0)))).toString("hex")).toBe(empty);
  });
});
