/** Questions of threads that wait for a person, and the code that answers them. */

import { isFields } from "./fields.js";
import { pythonLiteral, scriptLiteral } from "./literals.js";

export interface Interrupt {
  id?: string | undefined;
  value: unknown;
}

/** One tool call that waits for permission. */
export interface Action {
  name: string;
  args: unknown;
  description: string | undefined;
  decisions: string[];
}

export type Question =
  | { kind: "actions"; actions: Action[]; dialect: "python" | "javascript" }
  | { kind: "text"; text: string }
  | { kind: "other"; value: unknown };

/** Reads the question of an interrupt. LangChain's middleware names its fields differently in Python and JavaScript. */
export function questionOf(value: unknown): Question {
  if (typeof value === "string") return { kind: "text", text: value };
  if (!isFields(value)) return { kind: "other", value };
  const requests = value["action_requests"] ?? value["actionRequests"];
  if (Array.isArray(requests) && requests.length > 0 && requests.every(isFields)) {
    const dialect = "actionRequests" in value ? "javascript" : "python";
    const configs = value["review_configs"] ?? value["reviewConfigs"];
    const actions = requests.map((request) =>
      actionOf(request, Array.isArray(configs) ? configs : []),
    );
    return { kind: "actions", actions, dialect };
  }
  const { question } = value;
  const isOnly = typeof question === "string" && Object.keys(value).length === 1;
  return isOnly ? { kind: "text", text: question } : { kind: "other", value };
}

function actionOf(request: Record<string, unknown>, configs: unknown[]): Action {
  const name = String(request["name"] ?? request["action"] ?? "");
  const config = configs
    .filter(isFields)
    .find((one) => (one["action_name"] ?? one["actionName"]) === name);
  const allowed = config?.["allowed_decisions"] ?? config?.["allowedDecisions"];
  const { description } = request;
  return {
    name,
    args: request["args"] ?? request["arguments"] ?? {},
    description: typeof description === "string" ? description : undefined,
    decisions: Array.isArray(allowed) ? allowed.map(String) : ["approve", "reject"],
  };
}

/** The value that answers one interrupt by a decision; every action gets the same one. */
export function answerTo(interrupt: Interrupt, decision: string): unknown {
  const question = questionOf(interrupt.value);
  if (question.kind !== "actions") return "your answer";
  return {
    decisions: question.actions.map((action) => decided(action, decision, question.dialect)),
  };
}

function decided(action: Action, decision: string, dialect: "python" | "javascript"): unknown {
  const type = action.decisions.includes(decision) ? decision : (action.decisions[0] ?? decision);
  if (type === "edit") {
    const edited = { name: action.name, args: action.args };
    return dialect === "python" ? { type, edited_action: edited } : { type, editedAction: edited };
  }
  return type === "reject" || type === "respond" ? { type, message: "your reason" } : { type };
}

/** Makes the value of `Command(resume=…)`: the answer, or several answers by the ids of their interrupts. */
export function resumeValue(interrupts: readonly Interrupt[], decision: string): unknown {
  const [first] = interrupts;
  if (first === undefined) return "your answer";
  if (interrupts.length === 1) return answerTo(first, decision);
  return Object.fromEntries(
    interrupts.map((one, at) => [one.id ?? String(at), answerTo(one, decision)]),
  );
}

export interface ResumeCode {
  python: string;
  typescript: string;
}

/** The code that answers, for the program that has the graph. */
export function resumeCode(
  threadId: string,
  interrupts: readonly Interrupt[],
  decision: string,
): ResumeCode {
  const value = resumeValue(interrupts, decision);
  return {
    python: [
      "from langgraph.types import Command",
      "",
      `config = {"configurable": {"thread_id": ${pythonLiteral(threadId)}}}`,
      `graph.invoke(Command(resume=${pythonLiteral(value)}), config)`,
    ].join("\n"),
    typescript: [
      'import { Command } from "@langchain/langgraph";',
      "",
      `const config = { configurable: { thread_id: ${scriptLiteral(threadId)} } };`,
      `await graph.invoke(new Command({ resume: ${scriptLiteral(value)} }), config);`,
    ].join("\n"),
  };
}

/** Decisions that every action of the interrupts allows. */
export function decisionsOf(interrupts: readonly Interrupt[]): string[] {
  const lists = interrupts.flatMap(({ value }) => {
    const question = questionOf(value);
    return question.kind === "actions" ? question.actions.map(({ decisions }) => decisions) : [];
  });
  const [first, ...rest] = lists;
  return first?.filter((decision) => rest.every((other) => other.includes(decision))) ?? [];
}
