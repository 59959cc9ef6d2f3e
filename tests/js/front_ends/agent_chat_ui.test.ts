/** agent-chat-ui on threads of a server that runs no graph: its list and its conversations. */

import { Annotation, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ThreadkeepSaver } from "threadkeep/langgraph";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Browser } from "../support/chromium.js";
import { Server } from "../support/server.js";
import { FrontEnd, opened } from "./page.js";

let browser: Browser;
let server: Server;
let ui: FrontEnd;

beforeAll(async () => {
  ui = await FrontEnd.serve("agent-chat-ui");
  const options = ["--cors-origin", ui.url, "--default-graph-id", "agent"];
  server = await new Server(undefined, options).start();
  browser = await Browser.open();
  const graph = new StateGraph(Annotation.Root({ ...MessagesAnnotation.spec }))
    .addNode("agent", ({ messages }) => {
      return { messages: [{ role: "ai", content: `heard ${messages.at(-1)?.content}` }] };
    })
    .addEdge(START, "agent")
    .compile({ checkpointer: new ThreadkeepSaver({ url: server.url }) });
  for (const content of ["The first question", "The second question"]) {
    const config = { configurable: { thread_id: crypto.randomUUID() } };
    await graph.invoke({ messages: [{ role: "human", content }] }, config);
  }
});

afterAll(async () => {
  await browser?.close();
  await server?.remove();
  ui?.stop();
});

it("lists threads of the graph and opens one", async () => {
  const asked = new URLSearchParams({ apiUrl: server.url, assistantId: "agent" });
  asked.set("chatHistoryOpen", "true");
  const { page, errors } = await opened(browser, `${ui.url}/?${asked}`);
  await page.getByText("The second question").waitFor();
  await page.getByText("The first question").click();
  await page.getByText("heard The first question").waitFor();
  expect(errors).toEqual([]);
});
