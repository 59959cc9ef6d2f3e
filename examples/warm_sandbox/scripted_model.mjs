/**
 * A chat model that follows rules, so that the example needs no network and no key. It knows what a real model would know: the
 * conversation that it is shown, and nothing else.
 */

import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage } from "@langchain/core/messages";

const FILES = ["/memories/password.md", "/state.md", "/notes/password.txt"];
const PASSWORD = /password: ([A-Z]+-\d+)/;

/** Writes, edits and reads files when it is told to, and answers from the conversation. */
export class ScriptedModel extends BaseChatModel {
  _llmType() {
    return "scripted";
  }

  bindTools() {
    return this;
  }

  async _generate(messages) {
    const message = answer(messages);
    return { generations: [{ message, text: message.text }] };
  }
}

/** The next message of the conversation. */
function answer(messages) {
  const said = messages.filter((message) => message.getType() === "human");
  const told = said.map((message) => PASSWORD.exec(message.text)?.[1]).filter(Boolean);
  const request = said.at(-1).text;
  const results = messages
    .slice(messages.lastIndexOf(said.at(-1)))
    .filter((message) => message.getType() === "tool");
  if (request.startsWith("What was the password")) {
    return new AIMessage(told.at(-1) ?? "This appears to be the start of our conversation.");
  }
  if (results.length > 0) {
    const isRead = request.startsWith("Read ");
    return new AIMessage(isRead ? results.at(-1).text : request.split("Reply: ").at(-1));
  }
  return new AIMessage({ content: "", tool_calls: callsFor(request, told) });
}

function callsFor(request, told) {
  if (request.startsWith("Read ")) {
    return [call(0, "read_file", { file_path: request.slice("Read ".length) })];
  }
  if (request.startsWith("Replace ")) {
    const [old_string, new_string] = told.slice(-2);
    return FILES.map((file_path, at) => {
      return call(at, "edit_file", { file_path, old_string, new_string });
    });
  }
  const content = `The password is ${told.at(-1)}.\n`;
  return FILES.map((file_path, at) => call(at, "write_file", { file_path, content }));
}

function call(at, name, args) {
  return { name, args, id: `call-${name}-${at}`, type: "tool_call" };
}
