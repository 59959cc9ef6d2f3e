/** Searches of the store: what an address asks for, and the JSON that the builder of filters writes. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { conditionsOf, reasonAgainst } from "../src/nouns/store/conditions.js";
import {
  type Condition,
  draftOf,
  type FilterDraft,
  filterText,
  OPERATORS,
  problemOf,
} from "../src/nouns/store/filter_draft.js";

const STORE = { page: "store" as const, namespace: ["ann"] };

describe("an address", () => {
  it("asks for words or a meaning, also with a filter", () => {
    expect(conditionsOf(STORE)).toEqual({ sort: "updated" });
    expect(conditionsOf({ ...STORE, q: "tea", mode: "words" })).toEqual({
      query: "tea",
      mode: "text",
    });
    const filter = '{"kind": "note"}';
    expect(conditionsOf({ ...STORE, q: "tea", mode: "meaning", filter })).toEqual({
      query: "tea",
      mode: "vector",
      filter: { kind: "note" },
    });
    expect(conditionsOf({ ...STORE, q: "tea", mode: "hybrid" })).toMatchObject({ mode: "hybrid" });
    expect(conditionsOf({ ...STORE, q: filter, mode: "filter" })).toEqual({
      filter: { kind: "note" },
    });
  });

  it("with a filter that is none asks for nothing", () => {
    for (const q of ["[1]", "{", "5", "null"]) {
      expect(conditionsOf({ ...STORE, q, mode: "filter" }), q).toBeInstanceOf(Error);
      expect(conditionsOf({ ...STORE, q: "x", mode: "words", filter: q }), q).toBeInstanceOf(Error);
    }
  });
});

it("a search by meaning is offered where the server makes vectors, or does not tell", () => {
  const server = { name: "threadkeep", version: "1", keyless: false };
  const features = { agent_server: true, console: true, encryption: false, object_store: false };
  const without = { ...server, features: { ...features, redis: false } };
  const embeddings = { model: "m", dims: 3 };
  const withThem = { ...server, features: { ...features, redis: false, embeddings } };
  for (const mode of ["meaning", "hybrid"] as const) {
    expect(reasonAgainst(mode, without)).toContain("--embeddings-url");
    expect(reasonAgainst(mode, withThem)).toBeUndefined();
    expect(reasonAgainst(mode, server)).toBeUndefined();
    expect(reasonAgainst(mode, undefined)).toBeUndefined();
  }
  expect(reasonAgainst("words", without)).toBeUndefined();
});

describe("the builder of filters", () => {
  const one: Condition = { path: "a.b", operator: "$gte", value: " 1.0 " };

  it("writes one condition, and several that are joined", () => {
    expect(filterText({ join: "$or", conditions: [one] })).toBe('{"a.b": {"$gte": 1.0}}');
    const other: Condition = { path: 'a"b', operator: "$in", value: '["x", 12345678901234567890]' };
    expect(filterText({ join: "$or", conditions: [one, other] })).toBe(
      '{"$or": [{"a.b": {"$gte": 1.0}}, {"a\\"b": {"$in": ["x", 12345678901234567890]}}]}',
    );
  });

  it("says what is wrong before the server does", () => {
    const problem = (changes: Partial<Condition>) =>
      problemOf({ join: "$and", conditions: [{ ...one, ...changes }] });
    expect(problem({})).toBeUndefined();
    expect(problem({ path: "" })).toContain("Name");
    expect(problem({ path: "$eq" })).toContain("$");
    expect(problem({ value: "tea" })).toContain("JSON");
    expect(problem({ value: "true" })).toContain("Order");
    expect(problem({ operator: "$in", value: '"x"' })).toContain("list");
    expect(problem({ operator: "$exists", value: "1" })).toContain("true or false");
    expect(problemOf({ join: "$and", conditions: [] })).toContain("Add");
  });

  it("reads back what it has written", () => {
    const path = fc.string({ minLength: 1 }).filter((text) => !text.startsWith("$"));
    const scalar = fc.oneof(fc.string(), fc.maxSafeInteger(), fc.boolean(), fc.constant(null));
    const condition = fc
      .record({ path, operator: fc.constantFrom(...OPERATORS.map(([name]) => name)), scalar })
      .map(({ path: name, operator, scalar: value }): Condition => {
        const isList = operator === "$in" || operator === "$nin";
        return { path: name, operator, value: JSON.stringify(isList ? [value] : value) };
      });
    const draft = fc.record({
      join: fc.constantFrom("$and" as const, "$or" as const),
      conditions: fc.array(condition, { minLength: 2, maxLength: 5 }),
    });
    fc.assert(
      fc.property(draft, (given: FilterDraft) => {
        expect(draftOf(filterText(given))).toEqual(given);
      }),
    );
  });

  it("leaves alone what it would not write again as it was", () => {
    for (const text of [
      '{"a": {"b": 1}}',
      '{"a": {"$gt": 1, "$lt": 5}}',
      '{"$not": {"a": 1}}',
      '{"$or": [{"a": 1, "b": 2}]}',
      '{"a": 1.5}',
      "{}",
      "[]",
      "{",
    ]) {
      expect(draftOf(text), text).toBeUndefined();
    }
    expect(draftOf('{"a": 1, "b": "x"}')).toEqual({
      join: "$and",
      conditions: [
        { path: "a", operator: "$eq", value: "1" },
        { path: "b", operator: "$eq", value: '"x"' },
      ],
    });
  });
});
