/** Reads stored messages of LangChain, in the forms that Python and JavaScript give them, for display. */

import { type Fields, isFields } from "./shapes.js";

export type Role = "human" | "ai" | "tool" | "system" | "other";

export type Part =
  | { kind: "text"; text: string }
  | { kind: "reasoning"; text: string }
  | { kind: "image"; base64: string }
  | { kind: "address"; address: string }
  | { kind: "json"; value: unknown };

export interface ToolCall {
  id: string | undefined;
  name: string;
  args: unknown;
  /** Why the model's arguments could not be read. */
  error?: string | undefined;
}

export interface Usage {
  input: number;
  output: number;
}

export interface Message {
  id: string | undefined;
  role: Role;
  /** The stored name of the kind. */
  kind: string;
  name: string | undefined;
  parts: Part[];
  calls: ToolCall[];
  /** Of a tool message: the call that it answers. */
  callId: string | undefined;
  isError: boolean;
  usage: Usage | undefined;
  raw: unknown;
}

const ROLES = new Map<string, Role>([
  ["human", "human"],
  ["user", "human"],
  ["ai", "ai"],
  ["assistant", "ai"],
  ["tool", "tool"],
  ["function", "tool"],
  ["system", "system"],
  ["developer", "system"],
]);

export function messageOf(raw: unknown): Message {
  const fields = fieldsOf(raw);
  const kind = kindOf(raw, fields);
  const calls = callsOf(fields);
  return {
    id: textOf(fields["id"]),
    role: ROLES.get(kind) ?? "other",
    kind,
    name: textOf(fields["name"]),
    parts: partsOf(fields, new Set(calls.map(({ id }) => id))),
    calls,
    callId: textOf(fields["tool_call_id"]),
    isError: fields["status"] === "error",
    usage: usageOf(fields["usage_metadata"]),
    raw,
  };
}

/** LangChain.js may store what its constructor takes. */
function fieldsOf(raw: unknown): Fields {
  if (!isFields(raw)) return { content: raw };
  const { kwargs, data } = raw;
  if (isFields(kwargs)) return kwargs;
  return isFields(data) && !("content" in raw) ? data : raw;
}

function kindOf(raw: unknown, fields: Fields): string {
  const path = isFields(raw) ? raw["id"] : undefined;
  const named = Array.isArray(path) ? String(path.at(-1)) : undefined;
  const stored = isFields(raw) && raw["type"] !== "constructor" ? raw["type"] : undefined;
  const kind =
    named ?? textOf(stored) ?? textOf(fields["type"]) ?? textOf(fields["role"]) ?? "unknown";
  return kind.replace(/Message(Chunk)?$/, "").toLowerCase();
}

function callsOf(fields: Fields): ToolCall[] {
  const calls = listOf(fields["tool_calls"]).filter(isFields).map(callOf);
  const broken = listOf(fields["invalid_tool_calls"])
    .filter(isFields)
    .map((one) => ({
      ...callOf(one),
      error: textOf(one["error"]) ?? "the arguments cannot be read",
    }));
  if (calls.length + broken.length > 0) return [...calls, ...broken];
  const { additional_kwargs: more } = fields;
  if (isFields(more)) return listOf(more["tool_calls"]).filter(isFields).map(callOf);
  return [];
}

function callOf(call: Fields): ToolCall {
  // OpenAI's form has name and arguments one level deeper, and the arguments as text.
  const inner = isFields(call["function"]) ? call["function"] : call;
  const args = inner["args"] ?? inner["arguments"] ?? {};
  return { id: textOf(call["id"]), name: textOf(inner["name"]) ?? "", args: parsed(args) };
}

function parsed(args: unknown): unknown {
  if (typeof args !== "string") return args;
  try {
    return JSON.parse(args);
  } catch {
    return args;
  }
}

function partsOf(fields: Fields, callIds: Set<string | undefined>): Part[] {
  const { content } = fields;
  const reasoning = isFields(fields["additional_kwargs"])
    ? textOf(fields["additional_kwargs"]["reasoning_content"])
    : undefined;
  const before: Part[] = reasoning ? [{ kind: "reasoning", text: reasoning }] : [];
  if (typeof content === "string")
    return content === "" ? before : [...before, { kind: "text", text: content }];
  if (!Array.isArray(content)) {
    return content === undefined || content === null
      ? before
      : [...before, { kind: "json", value: content }];
  }
  return [...before, ...content.flatMap((block) => partOf(block, callIds))];
}

function partOf(block: unknown, callIds: Set<string | undefined>): Part[] {
  if (typeof block === "string") return [{ kind: "text", text: block }];
  if (!isFields(block)) return [{ kind: "json", value: block }];
  switch (block["type"]) {
    case "text":
    case "text-plain":
    case "output_text":
      return typeof block["text"] === "string"
        ? [{ kind: "text", text: block["text"] }]
        : other(block);
    case "thinking":
    case "reasoning":
      return reasoningOf(block);
    case "tool_use":
    case "tool_call":
    case "input_json_delta":
      // Shown as a call of the message.
      return callIds.has(textOf(block["id"])) || block["type"] === "input_json_delta"
        ? []
        : other(block);
    case "image":
    case "image_url":
      return imageOf(block);
    default:
      return other(block);
  }
}

function other(value: unknown): Part[] {
  return [{ kind: "json", value }];
}

function reasoningOf(block: Fields): Part[] {
  const summary = listOf(block["summary"]).map((one) =>
    isFields(one) ? textOf(one["text"]) : undefined,
  );
  const text = textOf(block["thinking"]) ?? textOf(block["reasoning"]) ?? textOf(block["text"]);
  const found = text ?? summary.filter((one) => one !== undefined).join("\n");
  return found === "" ? other(block) : [{ kind: "reasoning", text: found }];
}

function imageOf(block: Fields): Part[] {
  const inner = block["image_url"];
  const source = isFields(block["source"]) ? block["source"] : block;
  const address = textOf(isFields(inner) ? inner["url"] : inner) ?? textOf(source["url"]);
  if (address !== undefined) {
    const base64 = /^data:[^,]*;base64,(.*)$/s.exec(address)?.[1];
    return [base64 === undefined ? { kind: "address", address } : { kind: "image", base64 }];
  }
  const data = textOf(source["data"]) ?? textOf(source["base64"]);
  return data === undefined ? other(block) : [{ kind: "image", base64: data }];
}

function usageOf(found: unknown): Usage | undefined {
  if (!isFields(found)) return undefined;
  const { input_tokens: input, output_tokens: output } = found;
  return typeof input === "number" && typeof output === "number" ? { input, output } : undefined;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
