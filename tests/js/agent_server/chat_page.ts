/** A page as front ends have it: the hook of LangGraph's SDK for React, and what it says of a thread. It is bundled for Chromium. */

import { useStream } from "@langchain/react";
import { createElement } from "react";
import { createRoot } from "react-dom/client";

const asked = new URLSearchParams(location.search);
const [apiUrl, threadId] = [asked.get("apiUrl") ?? "", asked.get("threadId") ?? ""];

function Chat() {
  const stream = useStream({ assistantId: "agent", apiUrl, threadId });
  const said = stream.messages.map((message) => `${message.type}: ${message.text}`);
  const shown = {
    said,
    asked: stream.interrupts.map((it) => it.value),
    error: stream.error === undefined ? null : String(stream.error),
    isLoading: stream.isThreadLoading,
  };
  return createElement("pre", { id: "shown" }, JSON.stringify(shown));
}

createRoot(document.body.appendChild(document.createElement("main"))).render(createElement(Chat));
