/**
 * An agent of the Claude Agent SDK, in a process of its own, whose sessions are on a threadkeep server:
 *
 *     node sdk_process.mjs FOLDER PROMPT [SESSION]
 *
 * works in FOLDER, resumes SESSION if there is one, prints the session and the answer as JSON, and is killed at once. With
 * PINNED=no it takes the project key that the SDK makes of the folder.
 */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { foldSessionSummary, query } from "@anthropic-ai/claude-agent-sdk";
import { ThreadkeepSessionStore } from "threadkeep/claude";

const [folder, prompt, resume] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
const pinned = process.env["PINNED"] === "no" ? {} : { projectKey: "pinned" };
const options = {
  cwd: folder,
  sessionStore: new ThreadkeepSessionStore({ ...pinned, foldSummary: foldSessionSummary }),
  pathToClaudeCodeExecutable: fileURLToPath(new URL("scripted_cli.mjs", import.meta.url)),
  executable: "node",
  env: { ...process.env, CLAUDE_CONFIG_DIR: join(folder, "config") },
  ...(resume ? { resume } : {}),
};
const found = {};
for await (const message of query({ prompt, options })) {
  if (message.type === "result") Object.assign(found, { answer: message.result });
  if (message.type === "system" && message.subtype === "mirror_error") {
    Object.assign(found, { mirrorError: message.error });
  }
  found.sessionId = message.session_id ?? found.sessionId;
}
process.stdout.write(`${JSON.stringify(found)}\n`, () => process.kill(process.pid, "SIGKILL"));
