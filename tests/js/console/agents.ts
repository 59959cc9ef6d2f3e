/** Real deepagents agents with scripted models, whose threads the console shows. */

import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import { ThreadkeepSaver } from "threadkeep/langgraph";
import { agent, calls, type Line, type Runnable, Scripted } from "../support/agents.js";

export interface Place {
  url: string;
  apiKey?: string;
}

export const SUBAGENT_TEXT = "The tide is high at noon.";
export const FILE = "/plan.md";
export const ANSWER = "Here is the plan.";

/** Asks a sub-agent, writes a file, then wants to search, which a person has to allow. */
function script(): Line[] {
  return [
    calls(["c1", "task", { description: "When is the tide?", subagent_type: "researcher" }]),
    calls(["c2", "write_file", { file_path: FILE, content: "# Plan\n\nSail at noon.\n" }]),
    calls(["c3", "search", { query: "boats" }]),
    new AIMessage(ANSWER),
  ];
}

/** An agent that continues where its thread stands: its model knows the lines from `from` on. */
export function planner(place: Place, from = 0): Runnable {
  const researcher = {
    name: "researcher",
    description: "Looks things up.",
    systemPrompt: "Look it up.",
    model: new Scripted([calls(["s1", "ls", { path: "/" }]), new AIMessage(SUBAGENT_TEXT)]),
  };
  return agent(new ThreadkeepSaver(place), script().slice(from), {
    subagents: [researcher],
    interruptOn: { search: true },
  });
}

/** Runs the planner until it asks for permission. */
export async function plan(place: Place, threadId: string): Promise<void> {
  const config = { configurable: { thread_id: threadId } };
  const message = new HumanMessage("Plan a trip by boat");
  await planner(place).invoke({ messages: [message] }, config);
}

/** Allows what the agent asks. */
export async function allow(place: Place, threadId: string): Promise<void> {
  const config = { configurable: { thread_id: threadId } };
  const resume = { decisions: [{ type: "approve" }] };
  await planner(place, 3).invoke(new Command({ resume }), config);
}
