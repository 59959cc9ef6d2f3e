/** Agentrail's arithmetic and texts: estimates, budgets, cuts, placeholders, references. */

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message } from "../src/agentrail/contract.js";
import { archiveIdOf, noteOf, placeholderOf } from "../src/agentrail/placeholder.js";
import { placeOf, sessionRefOf } from "../src/agentrail/session_ref.js";
import {
  splitOf,
  tokensOfMessage,
  tokensOfMessages,
  tokensOfText,
  withinBudget,
} from "../src/agentrail/tokens.js";

const usage = {
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  totalTokens: 0,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
};

function user(content: Extract<Message, { role: "user" }>["content"]): Message {
  return { role: "user", content, timestamp: 1 };
}

function assistant(content: Extract<Message, { role: "assistant" }>["content"]): Message {
  return {
    role: "assistant",
    content,
    provider: "p",
    modelId: "m",
    usage,
    stopReason: "stop",
    timestamp: 1,
  };
}

function result(text: string): Message {
  const content = [{ type: "text" as const, text }];
  return {
    role: "toolResult",
    toolCallId: "c",
    toolName: "t",
    content,
    isError: false,
    timestamp: 1,
  };
}

const image = { type: "image" as const, data: "x".repeat(99), mimeType: "image/png" };

describe("an estimate", () => {
  it.each([
    ["", 0],
    ["a", 1],
    ["abcd", 1],
    ["abcde", 2],
    ["é", 1],
    ["日本", 2],
    ["🦀", 1],
    ["ab日", 2],
    ["\u007f\u0080", 2],
    ["\0\0\0\0", 1],
  ])("of %j is %d", (text, tokens) => {
    expect(tokensOfText(text)).toBe(tokens);
  });

  it("counts texts, thoughts and images, and 4 for each message", () => {
    expect(tokensOfMessage(user("abcd"))).toBe(5);
    expect(tokensOfMessage(user([{ type: "text", text: "abcd" }, image, image]))).toBe(3_005);
    // Rounded once for the message, not for each of its blocks.
    const blocks = [
      { type: "text" as const, text: "a" },
      { type: "thinking" as const, thinking: "bcd" },
    ];
    expect(tokensOfMessage(assistant(blocks))).toBe(5);
    const call = {
      type: "toolCall" as const,
      id: "1",
      name: "n",
      arguments: { a: "x".repeat(99) },
    };
    expect(tokensOfMessage(assistant([call]))).toBe(4);
    expect(tokensOfMessage(result("abcdefgh"))).toBe(6);
    expect(tokensOfMessages([user("abcd"), user("abcd")])).toBe(10);
  });
});

describe("a budget", () => {
  const messages = [user("a".repeat(400)), user("b"), user("c")];

  it("takes the newest that fit", () => {
    expect(withinBudget(messages, 10)).toEqual(messages.slice(1));
    expect(withinBudget(messages, 114)).toEqual(messages);
    expect(withinBudget(messages, 113)).toEqual(messages.slice(1));
  });

  it("takes one at least, and nothing of nothing", () => {
    expect(withinBudget(messages, 0)).toEqual(messages.slice(2));
    expect(withinBudget([], 10)).toEqual([]);
  });

  it("stops at the first that does not fit, whatever comes before it", () => {
    const mixed = [user("tiny"), user("x".repeat(4_000)), result("abcd")];
    expect(withinBudget(mixed, 50)).toEqual([mixed[2]]);
  });

  it("is an end of the log that fits and could not be longer", () => {
    const message = fc.oneof(fc.string({ maxLength: 300 }).map(user), fc.string().map(result));
    fc.assert(
      fc.property(fc.array(message, { minLength: 1 }), fc.nat(500), (log, budget) => {
        const kept = withinBudget(log, budget);
        expect(kept).toEqual(log.slice(log.length - kept.length));
        if (kept.length > 1) expect(tokensOfMessages(kept)).toBeLessThanOrEqual(budget);
        const longer = log.slice(-kept.length - 1);
        if (kept.length < log.length) expect(tokensOfMessages(longer)).toBeGreaterThan(budget);
      }),
    );
  });
});

describe("a cut", () => {
  const options = { triggerTokens: 0, compactFraction: 1 / 3, force: false };
  const six = Array.from({ length: 6 }, () => user("abcd"));

  it("is made of the oldest third", () => {
    expect(splitOf(six, options)).toEqual({ count: 2, totalTokens: 30 });
  });

  it("is not made of fewer than 6, not even by force", () => {
    expect(splitOf(six.slice(1), { ...options, force: true })).toBeUndefined();
  });

  it("is made above the trigger, not at it, unless by force", () => {
    expect(splitOf(six, { ...options, triggerTokens: 30 })).toBeUndefined();
    expect(splitOf(six, { ...options, triggerTokens: 29 })).toBeDefined();
    expect(splitOf(six, { ...options, triggerTokens: 30, force: true })).toBeDefined();
  });

  it("takes one at least", () => {
    expect(splitOf(six, { ...options, compactFraction: 0.01 })?.count).toBe(1);
  });

  it("goes past results of tools, or back where there is nothing else behind", () => {
    const log = [user("a"), assistant([]), result("1"), result("2"), assistant([]), user("b")];
    expect(splitOf(log, options)?.count).toBe(4);
    const endless = [user("a"), assistant([]), ...Array.from({ length: 5 }, () => result("r"))];
    expect(splitOf(endless, options)?.count).toBe(1);
    const only = Array.from({ length: 6 }, () => result("r"));
    expect(splitOf(only, options)?.count).toBe(1);
  });
});

describe("a placeholder", () => {
  const now = new Date("2026-11-22T10:11:12.345Z");
  const compaction = {
    archiveId: "0007",
    summary: "They spoke.",
    count: 12,
    tokens: 345,
    now,
    workspaceSnapshot: undefined,
  };

  it("is the text that Agentrail's readers take apart", () => {
    expect(placeholderOf(compaction)).toEqual({
      role: "user",
      timestamp: now.getTime(),
      content: [
        "[Conversation compacted at 2026-11-22T10:11:12.345Z. Full history preserved in messages.compactions/0007.jsonl.",
        "Archive ID: 0007",
        "12 messages (345 tokens estimated) were compressed.",
        "",
        "Summary of compressed conversation:",
        "They spoke.",
        "]",
      ].join("\n"),
    });
  });

  it("names the files of the sandbox, if there are any", () => {
    const { content } = placeholderOf({ ...compaction, workspaceSnapshot: " a.txt\nb.txt \n" });
    expect(content).toContain(
      "They spoke.\n\nSandbox workspace at time of compaction:\na.txt\nb.txt\n]",
    );
    expect(placeholderOf({ ...compaction, workspaceSnapshot: " \n" }).content).not.toContain(
      "Sandbox",
    );
  });

  it("is known by its beginning, and its archive by four digits or more", () => {
    expect(archiveIdOf(placeholderOf(compaction))).toBe("0007");
    expect(archiveIdOf(placeholderOf({ ...compaction, archiveId: "12345" }))).toBe("12345");
    expect(archiveIdOf(user("Archive ID: 0007"))).toBeUndefined();
    expect(archiveIdOf(result("[Conversation compacted at "))).toBeUndefined();
  });

  it("has a note beside it", () => {
    expect(noteOf(compaction)).toBe(
      "\n## Compaction Summary [2026-11-22T10:11:12.345Z]\n\n" +
        "*(12 messages compressed, full history in `messages.compactions/0007.jsonl`)*\n\nThey spoke.\n",
    );
  });
});

describe("a reference of a session", () => {
  it.each([
    ['["t","s"]', "t", "s"],
    ["t:s", "t", "s"],
    ["t:a:b/c", "t", "a:b/c"],
    ['["t:u","a\\u0000b"]', "t:u", "a\0b"],
    // JSON of something else is not the array.
    ['["t","s","u"]:x', '["t","s","u"]', "x"],
    ["[1]:2", "[1]", "2"],
    [":s", "", "s"],
  ])("%s is read", (ref, tenantId, sessionId) => {
    expect(placeOf(ref)).toEqual({ tenantId, sessionId });
  });

  it("is made as the array, and read back", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (tenantId, sessionId) => {
        expect(placeOf(sessionRefOf({ tenantId, sessionId }))).toEqual({ tenantId, sessionId });
      }),
    );
  });

  it("that is neither is refused", () => {
    expect(() => placeOf("nonsense")).toThrow(/sessionRef is neither/);
    expect(() => placeOf('["t"]')).toThrow(/sessionRef is neither/);
  });
});
