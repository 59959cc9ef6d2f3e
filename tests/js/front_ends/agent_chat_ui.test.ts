/** agent-chat-ui on threads of a server that runs no graph: its list and its conversations. */

import { Annotation, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ThreadkeepSaver } from "threadkeep/langgraph";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Stage } from "./stage.js";

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open("agent-chat-ui");
  const graph = new StateGraph(Annotation.Root({ ...MessagesAnnotation.spec }))
    .addNode("agent", ({ messages }) => {
      return { messages: [{ role: "ai", content: `heard ${messages.at(-1)?.content}` }] };
    })
    .addEdge(START, "agent")
    .compile({ checkpointer: new ThreadkeepSaver({ url: stage.server.url }) });
  for (const content of ["The first question", "The second question"]) {
    const config = { configurable: { thread_id: crypto.randomUUID() } };
    await graph.invoke({ messages: [{ role: "human", content }] }, config);
  }
});

afterAll(async () => stage?.close());

it("lists threads of the graph and opens one", async () => {
  const asked = new URLSearchParams({ apiUrl: stage.server.url, assistantId: "agent" });
  asked.set("chatHistoryOpen", "true");
  const { page, errors } = await stage.page(`/?${asked}`);
  await page.getByText("The second question").waitFor();
  await page.getByText("The first question").click();
  await page.getByText("heard The first question").waitFor();
  expect(errors).toEqual([]);
});
