/** Values that the server has cut: what is shown of them, and how much is asked for. */

import { describe, expect, it } from "vitest";
import { conversationOf } from "../src/content/conversation.js";
import { cutOf, hasCuts, headOf, listWindowOf, pointerTo, readCut } from "../src/content/cut.js";
import { sizesText } from "../src/content/cut_view.js";
import { type LoadedMessages, withEarlier, withNewest } from "../src/content/message_window.js";
import { messageOf } from "../src/content/messages.js";
import { filesOf, messageWindowOf, todosOf } from "../src/content/shapes.js";

const text = (head: string, size_bytes: number, pointer?: string) => ({
  $cut: { size_bytes, head, ...(pointer === undefined ? {} : { pointer }) },
});
const part = (head: unknown, length: number, from: number) => ({
  $cut: { size_bytes: 9_999, length, from, head, pointer: "/list" },
});

describe("a cut", () => {
  it("tells its size, length, head and place", () => {
    expect(cutOf(text("ab", 5_000_000, "/a/b"))).toEqual({
      ...{ sizeBytes: 5_000_000, length: undefined, from: 0, head: "ab", pointer: "/a/b" },
    });
    expect(listWindowOf(part([8, 9], 10, 8))).toEqual({ items: [8, 9], from: 8, length: 10 });
    expect(sizesText({ ...cutOf(part([8, 9], 1_000, 8)) } as never)).toBe(
      "1,000 entries (9.8 KiB), 2 shown",
    );
    expect(sizesText(cutOf(text("é", 2_048)) as never)).toBe("2.0 KiB of text, 2 B shown");
  });

  it("is no object that has more fields, or another one", () => {
    for (const value of [{ $cut: 1 }, { $cut: {}, x: 1 }, { cut: {} }, [], null, "$cut"]) {
      expect(cutOf(value), JSON.stringify(value)).toBeUndefined();
    }
  });

  it("is found at any depth", () => {
    expect(hasCuts({ a: [{ b: text("x", 9) }] })).toBe(true);
    expect(hasCuts({ a: [{ b: "x" }], $cut: 1 })).toBe(false);
  });

  it("has a pointer with its parts escaped", () => {
    expect(pointerTo("a/b", 3, "~x", "")).toBe("/a~1b/3/~0x/");
  });
});

describe("how much is asked for", () => {
  const asked = async (value: (max: number) => unknown) => {
    const maxima: number[] = [];
    const found = await readCut(async ({ stringBytesMax }) => {
      maxima.push(stringBytesMax);
      return value(stringBytesMax);
    }, 50);
    return { maxima, found };
  };
  const long = (bytes: number) => (max: number) =>
    bytes > max ? text("x".repeat(max), bytes) : "x".repeat(bytes);

  it("one request where nothing is cut", async () => {
    expect((await asked(() => ({ a: "b" }))).maxima).toEqual([2_048]);
  });

  it("a second one where a few texts are long", async () => {
    const { maxima, found } = await asked((max) => [long(8_000)(max), "short"]);
    expect(maxima).toEqual([2_048, 16_384]);
    expect(found).toEqual(["x".repeat(8_000), "short"]);
  });

  it("no second one where many are, or where one text of megabytes could not become whole", async () => {
    const many = await asked((max) => Array.from({ length: 50 }, () => long(5_000)(max)));
    expect(many.maxima).toEqual([2_048]);
    const lists = await asked(() => part([1], 1_000_000, 0));
    expect(lists.maxima).toEqual([2_048]);
  });
});

describe("what a cut state shows", () => {
  const message = (at: number) => ({ type: "human", id: `m${at}`, content: `text ${at}` });

  it("the newest messages, with their places in the list", () => {
    const newest = [message(98), message(99)];
    const found = messageWindowOf({ talk: part(newest, 100, 98) });
    expect(found).toEqual({ channel: "talk", messages: newest, from: 98, length: 100 });
    const entries = conversationOf(found?.messages ?? [], found?.from);
    expect(entries.map(({ index }) => index)).toEqual([98, 99]);
  });

  it("the beginning of long texts, reasoning and pictures, each with its cut", () => {
    const { parts } = messageOf({
      type: "ai",
      content: [
        { type: "text", text: text("he", 9_000, "/m/0/content/0/text") },
        { type: "reasoning", reasoning: text("th", 9_000) },
        { type: "image_url", image_url: { url: text("data:image/png;base64,iVBO", 90_000, "/x") } },
      ],
    });
    expect(parts).toMatchObject([
      { kind: "text", text: "he", cut: { pointer: "/m/0/content/0/text" } },
      { kind: "reasoning", text: "th", cut: { sizeBytes: 9_000 } },
      { kind: "image", base64: "iVBO", cut: { pointer: "/x" } },
    ]);
    expect(messageOf({ type: "ai", content: text("he", 9_000) }).parts).toMatchObject([
      { kind: "text", text: "he", cut: { sizeBytes: 9_000 } },
    ]);
  });

  it("calls of tools whose arguments are cut", () => {
    const args = { text: text("x", 9_000, "/m/0/tool_calls/0/args/text") };
    const calls = part([{ id: "c", name: "write", args }], 30, 0);
    expect(messageOf({ type: "ai", content: "", tool_calls: calls }).calls).toEqual([
      { id: "c", name: "write", args },
    ]);
  });

  it("todos and files, and where the rest of a file is", () => {
    const todos = part([{ content: text("sail", 9_000), status: "pending" }], 60, 59);
    expect(todosOf({ todos })).toMatchObject({
      entries: [{ content: "sail …", status: "pending" }],
      length: 60,
    });
    const files = {
      "/a~b": { content: text("x", 9_000, "/files/~1a~0b/content") },
      "/c": text("y", 8_000, "/files/~1c"),
      "/d": { content: part(["l1"], 500, 450) },
      "/e": "whole",
    };
    expect(filesOf({ files })?.entries.map(({ text, pointer }) => [text, pointer])).toEqual([
      ["x", "/files/~1a~0b/content"],
      ["y", "/files/~1c"],
      ["l1", "/files/~1d/content"],
      ["whole", undefined],
    ]);
  });

  it("a head in place of a value", () => {
    expect([headOf(text("x", 9)), headOf("y"), headOf({ $cut: 1 })]).toEqual([
      "x",
      "y",
      { $cut: 1 },
    ]);
  });
});

describe("parts of a conversation that goes on", () => {
  const made = (from: number, end: number, length = end, mark = ""): LoadedMessages => ({
    from,
    length,
    messages: Array.from({ length: end - from }, (_, at) => ({
      type: "human",
      id: `${mark}${from + at}`,
      content: "",
    })),
  });

  it("earlier messages stay while new ones come", () => {
    const known = withEarlier(made(50, 100), made(0, 50, 100));
    expect(known).toEqual(made(0, 100));
    expect(withNewest(known, made(53, 103))).toEqual(made(0, 103));
  });

  it("nothing stays where the list has changed, became shorter, or grew too far", () => {
    const known = made(0, 100);
    for (const newest of [made(53, 103, 103, "other "), made(40, 90), made(110, 160)]) {
      expect(withNewest(known, newest)).toBe(newest);
    }
    expect(withNewest(undefined, known)).toBe(known);
  });

  it("parts that do not meet are not joined", () => {
    const known = made(50, 100);
    expect(withEarlier(known, made(0, 49, 100))).toBe(known);
    expect(withEarlier(known, made(60, 70, 100))).toBe(known);
    expect(withEarlier(known, made(20, 70, 100))).toEqual(made(20, 100));
  });
});
