/** `useStream` of LangGraph's SDK for React, in Chromium, on threads of a server that runs no graph. */

import { Annotation, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ThreadkeepSaver } from "threadkeep/langgraph";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { Browser } from "../support/chromium.js";
import { ScriptPage } from "../support/script_page.js";
import { Server } from "../support/server.js";
import { waitUntil } from "../support/waiting.js";

/** Longer than the page needs for requests that it sends one after the other. */
const SETTLING_MS = 1_000;

interface Shown {
  said: string[];
  asked: unknown[];
  error: string | null;
  isLoading: boolean;
}

let browser: Browser;
let server: Server;
let front: ScriptPage;
let url: string;

beforeAll(async () => {
  // A page from elsewhere could not ask a server on this machine without a person's permission.
  front = await ScriptPage.serve(new URL("chat_page.ts", import.meta.url));
  url = front.url;
  server = await new Server(undefined, ["--cors-origin", url]).start();
  browser = await Browser.open();
  await talk();
});

afterEach(async () => {
  for (const page of browser.context.pages().slice(1)) await page.close();
});

afterAll(async () => {
  await browser.close();
  await server.remove();
  front.close();
});

/** Two conversations, of which one waits for an answer. */
async function talk(): Promise<void> {
  const State = Annotation.Root({ ...MessagesAnnotation.spec });
  const graph = new StateGraph(State)
    .addNode("agent", ({ messages }: typeof State.State) => {
      const text = String(messages.at(-1)?.content);
      const answer = text.startsWith("Send") ? interrupt({ question: "Really?" }) : `heard ${text}`;
      return { messages: [{ role: "ai", content: String(answer) }] };
    })
    .addEdge(START, "agent")
    .compile({ checkpointer: new ThreadkeepSaver({ url: server.url }) });
  const say = (content: string) => ({ messages: [{ role: "human", content }] });
  for (const [threadId, texts] of [
    ["idle", ["one", "two"]],
    ["waiting", ["one", "Send it"]],
  ] as const) {
    const config = { configurable: { thread_id: threadId }, metadata: { graph_id: "agent" } };
    for (const text of texts) await graph.invoke(say(text), config);
  }
}

/** Opens a thread in the page. Returns what the page shows once it has settled, its requests to the server, and the errors of its console. */
async function open(threadId: string): Promise<{ shown: Shown; asked: string[]; said: string[] }> {
  const { page, errors: said } = await browser.page();
  const asked: string[] = [];
  page.on("request", (it) => {
    const isPreflight = it.method() === "OPTIONS";
    if (it.url().startsWith(server.url) && !isPreflight) {
      asked.push(`${it.method()} ${it.url().slice(server.url.length)}`);
    }
  });
  const query = new URLSearchParams({ apiUrl: server.url, threadId });
  await page.goto(`${url}/?${query}`);
  const read = async () => JSON.parse(await page.locator("#shown").innerText()) as Shown;
  await waitUntil(async () => !(await read()).isLoading, "the thread");
  await page.waitForTimeout(SETTLING_MS);
  return { shown: await read(), asked, said };
}

it("shows an idle thread in three requests", async () => {
  const { shown, asked, said } = await open("idle");
  expect(shown.said).toEqual(["human: one", "ai: heard one", "human: two", "ai: heard two"]);
  expect(shown.asked).toEqual([]);
  expect([shown.error, said]).toEqual([null, []]);
  expect(asked.length, asked.join("\n")).toBeLessThanOrEqual(3);
});

it("shows what a thread asks in five requests", async () => {
  const { shown, asked, said } = await open("waiting");
  expect(shown.said).toEqual(["human: one", "ai: heard one", "human: Send it"]);
  expect(shown.asked).toEqual([{ question: "Really?" }]);
  expect([shown.error, said]).toEqual([null, []]);
  expect(asked.length, asked.join("\n")).toBeLessThanOrEqual(5);
});
