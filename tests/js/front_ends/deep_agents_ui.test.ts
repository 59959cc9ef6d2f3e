/** deep-agents-ui on threads of a server that runs no graph: its list, conversations, todos, files and questions. */

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import {
  Annotation,
  END,
  interrupt,
  MessagesAnnotation,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { ThreadkeepSaver } from "threadkeep/langgraph";
import { afterAll, beforeAll, expect, it } from "vitest";
import { Stage } from "./stage.js";

interface Todo {
  id: string;
  content: string;
  status: string;
}

const QUESTION = {
  action_requests: [{ name: "send_mail", args: { to: "ann" }, description: "Send the mail?" }],
  review_configs: [{ action_name: "send_mail", allowed_decisions: ["approve", "reject"] }],
};

const State = Annotation.Root({
  ...MessagesAnnotation.spec,
  todos: Annotation<Todo[]>(),
  files: Annotation<Record<string, string>>({
    reducer: (all, more) => ({ ...all, ...more }),
    default: () => ({}),
  }),
});

let stage: Stage;

function agent() {
  const last = (messages: BaseMessage[]) => messages.at(-1);
  return new StateGraph(State)
    .addNode("agent", ({ messages, files }: typeof State.State) => {
      const text = String(last(messages)?.content);
      if (text.startsWith("Send")) {
        const call = {
          id: "c",
          name: "send_mail",
          args: { to: "ann" },
          type: "tool_call" as const,
        };
        return { messages: [new AIMessage({ content: "", tool_calls: [call] })] };
      }
      if (text.startsWith("Read")) return { messages: [new AIMessage(`${files["notes.md"]}`)] };
      const todos = [{ id: "1", content: "Book a train", status: "pending" }];
      const said = { messages: [new AIMessage("It is planned.")] };
      return { ...said, todos, files: { "notes.md": "Take the train." } };
    })
    .addNode("tools", () => {
      interrupt(QUESTION);
      return {};
    })
    .addEdge(START, "agent")
    .addConditionalEdges("agent", ({ messages }) => {
      const calls = (last(messages) as AIMessage).tool_calls ?? [];
      return calls.length > 0 ? "tools" : END;
    })
    .compile({ checkpointer: new ThreadkeepSaver({ url: stage.server.url }) });
}

async function say(threadId: string, content: string) {
  const config = { configurable: { thread_id: threadId } };
  return await agent().invoke({ messages: [{ role: "human", content }] }, config);
}

beforeAll(async () => {
  stage = await Stage.open("deep-agents-ui", ["--state-update-channels", "files=merge"]);
  await say("trip", "Plan a trip to Rome");
  await say("mail", "Send a mail");
});

afterAll(async () => stage?.close());

async function open(path: string) {
  const config = JSON.stringify({ deploymentUrl: stage.server.url, assistantId: "agent" });
  return await stage.page(`${path}`, { "deep-agent-config": config });
}

it("lists threads, filters them by status, and shows what one asks", async () => {
  const { page, errors } = await open("/?sidebar=1");
  const [trip, mail] = ["Plan a trip to Rome", "Send a mail"].map((name) =>
    page.getByRole("button", { name }),
  );
  await trip?.waitFor();
  await mail?.waitFor();
  await page.getByRole("combobox").first().click();
  await page.getByRole("option", { name: "Interrupted" }).click();
  await trip?.waitFor({ state: "detached" });
  await mail?.click();
  await page.getByText("send_mail").first().waitFor();
  await page.getByRole("button", { name: "Approve" }).waitFor();
  expect(errors).toEqual([]);
});

it("shows conversation, todos and files, and the agent goes on with a file that is edited there", async () => {
  const { page, errors } = await open("/?threadId=trip");
  await page.getByText("It is planned.").waitFor();
  await page.getByText("Task 0 of 1").click();
  await page.getByText("Book a train").first().waitFor();
  await page.getByText("Files (State)").click();
  await page.getByText("notes.md").first().click();
  await page.getByText("Take the train.").first().waitFor();
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByPlaceholder("Enter file content...").fill("Take the boat.");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByPlaceholder("Enter file content...").waitFor({ state: "detached" });
  expect(errors).toEqual([]);
  const { messages } = await say("trip", "Read it");
  expect(messages.at(-1)?.content).toBe("Take the boat.");
});
