/**
 * A turn of a deep agent in a process of its own, as ComputerAgent's engine runs one: the session's id is the thread's, and the
 * session's store is built from options.
 *
 *     node deepagent_process.mjs server|log tell|ask SESSION
 *
 * Prints the answer and the agent's file as JSON, and is killed at once. `server` keeps checkpoints as such, `log` as entries of
 * the session's log.
 */

import { AIMessage } from "@langchain/core/messages";
import { createDeepAgent } from "deepagents";
import {
  httpCheckpointer,
  httpSessionStore,
  sessionStoreCheckpointer,
} from "threadkeep/computeragent";
import { callTool, ScriptedModel } from "../../../examples/deepagents_memory_js/scripted_model.mjs";

const [kind, part, sessionId] = process.argv.slice(2);
const options = { tokenEnv: "SESSION_TOKEN" };
const checkpointer =
  kind === "server"
    ? httpCheckpointer(options)
    : sessionStoreCheckpointer(httpSessionStore(options), { sessionId });

/** Knows only what a human said in the conversation. */
function recall(messages) {
  const told = messages
    .filter((message) => message.getType() === "human")
    .map((message) => /password: ([A-Z]+-\d+)/.exec(message.text)?.[1])
    .find(Boolean);
  return new AIMessage(told ?? "This appears to be the start of our conversation.");
}

const turns = {
  tell: {
    text: "Remember the password: AURORA-42. Reply: ACKNOWLEDGED.",
    script: [
      callTool("write_file", { file_path: "/state.md", content: "kept" }),
      new AIMessage("ACKNOWLEDGED"),
    ],
  },
  ask: { text: "What was the password I told you earlier?", script: [recall] },
};
const { text, script } = turns[part];
const agent = createDeepAgent({ model: new ScriptedModel(script), checkpointer });
const input = { messages: [{ role: "user", content: text }] };
const state = await agent.invoke(input, { configurable: { thread_id: sessionId } });
const content = state.files?.["/state.md"]?.content;
const file = Array.isArray(content) ? content.join("\n") : content;
const said = { answer: state.messages.at(-1).text, file };
process.stdout.write(`${JSON.stringify(said)}\n`, () => process.kill(process.pid, "SIGKILL"));
