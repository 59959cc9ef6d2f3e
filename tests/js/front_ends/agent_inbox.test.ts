/** agent-inbox on threads of a server that runs no graph: what they ask, and what is marked as resolved. */

import { Annotation, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ThreadkeepSaver } from "threadkeep/langgraph";
import { afterAll, beforeAll, expect, it } from "vitest";
import { waitUntil } from "../support/waiting.js";
import { Stage } from "./stage.js";

const ALLOWED = {
  allow_ignore: true,
  allow_respond: true,
  allow_edit: false,
  allow_accept: true,
};

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.open("agent-inbox");
  const graph = new StateGraph(Annotation.Root({ ...MessagesAnnotation.spec }))
    .addNode("agent", ({ messages }) => {
      const args = { to: String(messages.at(-1)?.content) };
      const description = `May I write to ${args.to}?`;
      interrupt([{ action_request: { action: "send_mail", args }, config: ALLOWED, description }]);
      return {};
    })
    .addEdge(START, "agent")
    .compile({ checkpointer: new ThreadkeepSaver({ url: stage.server.url }) });
  for (const content of ["ann", "bob"]) {
    const config = { configurable: { thread_id: crypto.randomUUID() } };
    await graph.invoke({ messages: [{ role: "human", content }] }, config);
  }
});

afterAll(async () => stage?.close());

/** The ids of threads that wait. */
async function waiting(): Promise<string[]> {
  const body = JSON.stringify({ status: "interrupted", select: ["thread_id"] });
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${stage.server.url}/threads/search`, {
    method: "POST",
    headers,
    body,
  });
  const rows = (await answer.json()) as { thread_id: string }[];
  return rows.map((it) => it.thread_id);
}

async function open(more = "") {
  const inbox = { id: "i", graphId: "agent", deploymentUrl: stage.server.url, name: "Mine" };
  const inboxes = JSON.stringify([{ ...inbox, selected: true }]);
  const place = `agent_inbox=i&offset=0&limit=10&inbox=interrupted${more}`;
  return await stage.page(`/?${place}`, { "inbox:agent_inboxes": inboxes });
}

it("lists what threads ask", async () => {
  const { page, errors } = await open();
  await page.getByText("May I write to ann?").waitFor();
  await page.getByText("May I write to bob?").waitFor();
  expect(errors).toEqual([]);
});

it("shows what one asks, and ends it when it is marked as resolved", async () => {
  const [one, other] = await waiting();
  const { page, errors } = await open(`&view_state_thread_id=${one}`);
  await page.getByText("send_mail").first().waitFor();
  // `Ignore` answers the agent, which needs the graph.
  await page.getByRole("button", { name: "Mark as Resolved" }).click();
  await waitUntil(async () => !(await waiting()).includes(one ?? ""), "the thread to be ended");
  expect(await waiting()).toEqual([other]);
  expect(errors).toEqual([]);
});
