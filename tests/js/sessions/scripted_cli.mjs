#!/usr/bin/env node
/**
 * Stands in for the program that the Claude Agent SDK runs: speaks its protocol over stdin and stdout, keeps its transcript as
 * the real one does, and answers by a script. It knows of the past only what lies in the file that the SDK made for a resume.
 */

import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

const resumed = option("--resume");
const sessionId = resumed ?? option("--session-id") ?? randomUUID();
const project = join(
  process.env["CLAUDE_CONFIG_DIR"],
  "projects",
  process.cwd().replaceAll(/[^a-zA-Z0-9]/g, "-"),
);
const file = join(project, `${sessionId}.jsonl`);

function option(name) {
  const given = process.argv.find((it) => it === name || it.startsWith(`${name}=`));
  if (given === undefined) return undefined;
  return given.includes("=")
    ? given.slice(name.length + 1)
    : process.argv[process.argv.indexOf(name) + 1];
}

function say(message) {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}

function entry(type, more) {
  const about = { sessionId, cwd: process.cwd(), version: "2.0.0", isSidechain: false };
  const timestamp = new Date().toISOString();
  return { parentUuid: null, ...about, type, uuid: randomUUID(), timestamp, ...more };
}

/** Everything that was said before, in the transcript of the resumed session. */
function past() {
  if (resumed === undefined) return "";
  if (!existsSync(file)) {
    process.stderr.write(`No conversation found with session ID: ${sessionId}\n`);
    process.exit(1);
  }
  return readFileSync(file, "utf8");
}

function answerTo(text, known) {
  const told = /password: ([A-Z]+-\d+)/;
  if (told.test(text)) return "ACKNOWLEDGED";
  return told.exec(known)?.[1] ?? "This appears to be the start of our conversation.";
}

/** One turn: the first batch of lines, then the end of the turn with lines that have no uuid, as the real program has them. */
function turn(message, known) {
  const text = message.content.map((block) => block.text ?? "").join("");
  const answer = answerTo(text, known);
  const queued = { type: "queue-operation", sessionId, timestamp: new Date().toISOString() };
  const user = entry("user", { message, userType: "external", nul: "a\0b" });
  const spoken = {
    id: `msg_${randomUUID()}`,
    type: "message",
    role: "assistant",
    model: "scripted",
    content: [{ type: "text", text: answer }],
  };
  const assistant = entry("assistant", { message: spoken, parentUuid: user.uuid });
  const mirror = (entries, filePath = file) =>
    say({ type: "transcript_mirror", filePath, entries });
  mirror([
    { ...queued, operation: "enqueue", content: text },
    { ...queued, operation: "dequeue" },
    user,
    entry("attachment", { attachment: { type: "todo_reminder", content: [] } }),
    assistant,
  ]);
  if (answer === "ACKNOWLEDGED") {
    const side = join(project, sessionId, "subagents", "agent-a1.jsonl");
    mirror([entry("user", { isSidechain: true, agentId: "a1", message })], side);
  }
  say({ type: "assistant", message: spoken, parent_tool_use_id: null, session_id: sessionId });
  mirror([
    { type: "last-prompt", sessionId, lastPrompt: text },
    { type: "cost-state", sessionId, cost: { total: 0.25 } },
  ]);
  const usage = { input_tokens: 1, output_tokens: 1 };
  say({
    type: "result",
    subtype: "success",
    is_error: false,
    result: answer,
    session_id: sessionId,
    num_turns: 1,
    duration_ms: 1,
    duration_api_ms: 1,
    total_cost_usd: 0.25,
    usage,
  });
}

let known;
for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.type === "control_request") {
    const response = { subtype: "success", request_id: message.request_id, response: {} };
    say({ type: "control_response", response });
  } else if (message.type === "user") {
    known ??= past();
    say({ type: "system", subtype: "init", session_id: sessionId, cwd: process.cwd(), tools: [] });
    turn(message.message, known);
  }
}
