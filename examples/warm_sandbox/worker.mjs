/**
 * The agent in a sandbox: a message per line of standard input as JSON, an answer per line of output. What it remembers is on
 * the threadkeep server, under the session's id; `/notes/` is a folder of the sandbox, which is gone with it unless somebody
 * saves it.
 */

import { createInterface } from "node:readline";
import { CompositeBackend, createDeepAgent, FilesystemBackend, StateBackend } from "deepagents";
import { label } from "threadkeep";
import { ThreadkeepBackend } from "threadkeep/deepagents";
import { ThreadkeepSaver } from "threadkeep/langgraph";
import { ScriptedModel } from "./scripted_model.mjs";

const { SANDBOX_SESSION, SANDBOX_USER, SANDBOX_WORKDIR } = process.env;
const agent = createDeepAgent({
  model: new ScriptedModel({}),
  checkpointer: new ThreadkeepSaver(),
  backend: new CompositeBackend(new StateBackend(), {
    "/memories/": new ThreadkeepBackend({ namespace: [label(SANDBOX_USER), "filesystem"] }),
    "/notes/": new FilesystemBackend({ rootDir: SANDBOX_WORKDIR, virtualMode: true }),
  }),
});
const config = { configurable: { thread_id: SANDBOX_SESSION } };

for await (const line of createInterface({ input: process.stdin })) {
  const { message } = JSON.parse(line);
  const state = await agent.invoke({ messages: [{ role: "user", content: message }] }, config);
  console.log(JSON.stringify({ answer: state.messages.at(-1).text }));
}
