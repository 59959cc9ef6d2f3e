/**
 * A deepagents agent whose memory is threadkeep. Run it as two processes with one thread id:
 *
 *     node agent.mjs tell THREAD    is told a password, writes a file, and is killed with SIGKILL
 *     node agent.mjs ask THREAD     is asked for the password and reads the file
 *
 * The server is found through THREADKEEP_URL and THREADKEEP_API_KEY.
 */

import { AIMessage } from "@langchain/core/messages";
import { createDeepAgent } from "deepagents";
import { ThreadkeepSaver } from "threadkeep/langgraph";
import { callTool, ScriptedModel } from "./scripted_model.mjs";

const FILE = "/notes.md";
const NOTE = "The deployment window is Tuesday.";

/** Answers from the conversation alone, as a model would: it knows only what a human said. */
function recall(messages) {
  for (const message of messages) {
    const told = /password: ([A-Z]+-\d+)/.exec(message.text);
    if (message.getType() === "human" && told) return new AIMessage(told[1]);
  }
  return new AIMessage("This appears to be the start of our conversation.");
}

/** One turn of the agent: what it answers, and its files afterwards. */
async function say(text, script, threadId) {
  const model = new ScriptedModel(script);
  const agent = createDeepAgent({ model, checkpointer: new ThreadkeepSaver() });
  const config = { configurable: { thread_id: threadId } };
  const state = await agent.invoke({ messages: [{ role: "user", content: text }] }, config);
  return { answer: state.messages.at(-1).text, files: state.files ?? {} };
}

async function tell(threadId) {
  const write = callTool("write_file", { file_path: FILE, content: NOTE });
  const script = [write, new AIMessage("ACKNOWLEDGED")];
  const question = "Remember the password: AURORA-42. Reply: ACKNOWLEDGED.";
  const { answer } = await say(question, script, threadId);
  console.log(`process A answers: ${answer}`);
  // The last step was acknowledged. No cleaning up, no closing, no chance to save anything more.
  process.kill(process.pid, "SIGKILL");
}

async function ask(threadId) {
  const question = "What was the password I told you earlier?";
  const { answer, files } = await say(question, [recall], threadId);
  const content = files[FILE]?.content ?? "no, it is gone";
  console.log(`process B answers: ${answer}`);
  console.log(
    `process B still has ${FILE}: ${Array.isArray(content) ? content.join("\n") : content}`,
  );
}

const [part, threadId] = process.argv.slice(2);
await { tell, ask }[part](threadId);
