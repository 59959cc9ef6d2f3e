/** Reads stored messages of LangChain, in the forms that Python and JavaScript give them, for display. */

import { type Cut, cutOf, headOf, listWindowOf } from "./cut.js";
import { type Fields, isFields } from "./fields.js";

export type Role = "human" | "ai" | "tool" | "system" | "other";

/** `cut`: only the beginning is here. */
export type Part =
  | { kind: "text"; text: string; cut?: Cut | undefined }
  | { kind: "reasoning"; text: string; cut?: Cut | undefined }
  | { kind: "image"; base64: string; cut?: Cut | undefined }
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
  const more = fields["additional_kwargs"];
  const reasoning = isFields(more) ? longText(more["reasoning_content"]) : undefined;
  const before: Part[] = reasoning?.text ? [{ kind: "reasoning", ...reasoning }] : [];
  const text = longText(content);
  if (text) return text.text === "" ? before : [...before, { kind: "text", ...text }];
  if (!Array.isArray(content)) {
    return content === undefined || content === null
      ? before
      : [...before, { kind: "json", value: content }];
  }
  return [...before, ...content.flatMap((block) => partOf(block, callIds))];
}

function partOf(block: unknown, callIds: Set<string | undefined>): Part[] {
  const whole = longText(block);
  if (whole) return [{ kind: "text", ...whole }];
  if (!isFields(block)) return [{ kind: "json", value: block }];
  switch (block["type"]) {
    case "text":
    case "text-plain":
    case "output_text": {
      const text = longText(block["text"]);
      return text ? [{ kind: "text", ...text }] : other(block);
    }
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
  const text =
    longText(block["thinking"]) ?? longText(block["reasoning"]) ?? longText(block["text"]);
  const found = text ?? { text: summary.filter((one) => one !== undefined).join("\n") };
  return found.text === "" ? other(block) : [{ kind: "reasoning", ...found }];
}

function imageOf(block: Fields): Part[] {
  const inner = block["image_url"];
  const source = isFields(block["source"]) ? block["source"] : block;
  const url = isFields(inner) && !cutOf(inner) ? inner["url"] : inner;
  const address = longText(url) ?? longText(source["url"]);
  if (address !== undefined) {
    const base64 = base64Of(address.text);
    if (base64 === undefined) return [{ kind: "address", address: address.text }];
    return [{ kind: "image", base64, cut: address.cut }];
  }
  const data = longText(source["data"]) ?? longText(source["base64"]);
  return data === undefined ? other(block) : [{ kind: "image", base64: data.text, cut: data.cut }];
}

/** What an address holds itself, if it does. */
export function base64Of(address: string): string | undefined {
  return /^data:[^,]*;base64,(.*)$/s.exec(address)?.[1];
}

function usageOf(found: unknown): Usage | undefined {
  if (!isFields(found)) return undefined;
  const { input_tokens: input, output_tokens: output } = found;
  return typeof input === "number" && typeof output === "number" ? { input, output } : undefined;
}

function listOf(value: unknown): unknown[] {
  return listWindowOf(value)?.items ?? [];
}

/** A text, or the beginning of one. */
function textOf(value: unknown): string | undefined {
  const head = headOf(value);
  return typeof head === "string" ? head : undefined;
}

function longText(value: unknown): { text: string; cut?: Cut | undefined } | undefined {
  const text = textOf(value);
  return text === undefined ? undefined : { text, cut: cutOf(value) };
}
