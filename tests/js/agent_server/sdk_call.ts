/** A call of LangGraph's SDK with its expected result: an answer or a refusal. */

import type { StateSnapshot } from "@langchain/langgraph";
import type { Client } from "langgraph-sdk-1.15.0";
import { expect } from "vitest";

export const RUN = "00000000-0000-4000-8000-000000000001";

export const TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00$/);
export const UUID = expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);

type Send = (client: Client, id: string) => unknown;
/** `asked` is the state of the thread `asking` as its graph returns it. */
type Expected = (asked: StateSnapshot, id: string) => unknown;

export interface Call {
  /** Continues the name of the method to a sentence. */
  does: string;
  /** Creates the thread or item that the call names, and returns its id. */
  given?: (client: Client) => Promise<string>;
  send: Send;
  returns?: Expected;
  refusal?: { status: number; code?: string };
  /** The only request that is counted, where the call opens streams beside it. */
  counted?: string;
  /** Versions without the method or the option. */
  lackedBy?: string[];
}

type More = Partial<Pick<Call, "given" | "counted" | "lackedBy">>;

export function returns(does: string, send: Send, expected: unknown, more: More = {}): Call {
  const told = typeof expected === "function" ? (expected as Expected) : () => expected;
  return { does, send, returns: told, ...more };
}

export function needsGraph(does: string, send: Send, more: More = {}): Call {
  return refused(`${does}: needs the graph`, send, 422, "needs_graph", more);
}

export function refused(
  does: string,
  send: Send,
  status: number,
  code?: string,
  more: More = {},
): Call {
  return { does, send, refusal: { status, ...(code && { code }) }, ...more };
}

/** The answer of a call; of a stream, all parts. */
export async function whole(given: unknown): Promise<unknown> {
  if (given === null || typeof given !== "object" || !(Symbol.asyncIterator in given)) return given;
  const parts: unknown[] = [];
  for await (const part of given as AsyncIterable<unknown>) parts.push(part);
  return parts;
}
