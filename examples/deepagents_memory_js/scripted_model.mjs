/** A chat model that follows a script, so that the example needs no network and no key. */

import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage } from "@langchain/core/messages";

/** Answers with the entries of its script, one after the other: messages, or functions from the history to one. */
export class ScriptedModel extends BaseChatModel {
  constructor(script) {
    super({});
    this.script = [...script];
  }

  _llmType() {
    return "scripted";
  }

  bindTools() {
    return this;
  }

  async _generate(messages) {
    const entry = this.script.shift();
    const message = typeof entry === "function" ? entry(messages) : entry;
    return { generations: [{ message, text: message.text }] };
  }
}

/** A message in which the model asks for one tool. */
export function callTool(name, args) {
  const call = { name, args, id: `call-${name}`, type: "tool_call" };
  return new AIMessage({ content: "", tool_calls: [call] });
}
