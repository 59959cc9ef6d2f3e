/** deepagents with a scripted model: a real agent loop without a network, the same words in every run. */

import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import type { ChatResult } from "@langchain/core/outputs";
import { tool } from "@langchain/core/tools";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { createDeepAgent } from "deepagents";
import { sleep } from "./waiting.js";

export type Line = AIMessage | ((messages: BaseMessage[]) => AIMessage);

/** Answers with the next line of its script; a line that is a function sees the conversation. */
export class Scripted extends BaseChatModel {
  readonly script: Line[];
  readonly delayMs: number;

  constructor(script: readonly Line[], delayMs = 0) {
    super({});
    this.script = [...script];
    this.delayMs = delayMs;
  }

  override _llmType(): string {
    return "scripted";
  }

  override bindTools(): this {
    return this;
  }

  override async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    if (this.delayMs > 0) await sleep(this.delayMs);
    const line = this.script.shift() ?? new AIMessage("done");
    const message = typeof line === "function" ? line(messages) : line;
    return { generations: [{ message, text: message.text }] };
  }
}

/** A model answer that calls tools: id, name, arguments each. */
export function calls(...named: [string, string, Record<string, unknown>][]): AIMessage {
  const tool_calls = named.map(([id, name, args]) => ({
    id,
    name,
    args,
    type: "tool_call" as const,
  }));
  return new AIMessage({ content: "", tool_calls });
}

const search = tool(
  ({ query }: { query: string }) =>
    `result of ${query}: ${"lorem ipsum ".repeat((query.length % 5) + 1)}`,
  {
    name: "search",
    description: "Look something up.",
    schema: {
      type: "object",
      properties: { query: { type: "string" } },
      required: ["query"],
    } as const,
  },
);

/** Tells how much of the conversation the model was shown, so that lost state changes the answer. */
export function recall(messages: BaseMessage[]): AIMessage {
  const texts = messages.filter((it) => it.getType() !== "system").map((it) => it.text);
  return new AIMessage(`saw ${texts.length} messages, ${texts.join("").length} characters`);
}

/** What these tests use of an agent or graph; their own types differ with every option. */
export interface Runnable {
  // biome-ignore lint/suspicious/noExplicitAny: a graph's state is what the graph says it is
  invoke(input: any, config: any): Promise<any>;
}

export function agent(
  checkpointer: BaseCheckpointSaver | undefined,
  script: readonly Line[],
  options: Record<string, unknown> = {},
): Runnable {
  const more = checkpointer ? { checkpointer } : {};
  return createDeepAgent({ model: new Scripted(script), tools: [search], ...more, ...options });
}

/** One turn: `tools` calls one after the other, a file written in every third turn, then an answer. */
function turnScript(turn: number, tools: number): Line[] {
  const lines: Line[] = Array.from({ length: tools }, (_, n) => {
    return calls([`c${turn}-${n}`, "search", { query: `q${turn}-${n}` }]);
  });
  if (turn % 3 === 0) {
    const content = { file_path: `/notes/${turn}.md`, content: `note of turn ${turn}` };
    lines.push(calls([`w${turn}`, "write_file", content]));
  }
  return [...lines, recall];
}

/** An agent whose model knows its lines for these turns. */
export function talker(
  checkpointer: BaseCheckpointSaver | undefined,
  turns: readonly number[],
  tools: number,
): Runnable {
  return agent(
    checkpointer,
    turns.flatMap((turn) => turnScript(turn, tools)),
  );
}

/** The user's side of a turn. */
export function question(turn: number): { messages: BaseMessage[] } {
  return { messages: [new HumanMessage({ content: `question ${turn}`, id: `user-${turn}` })] };
}
