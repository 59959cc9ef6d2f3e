/** Finds messages, todos and files in the values of a state by their shape. No name of a channel or a graph is taken for granted. */

import { cutOf, fieldsWindowOf, hasCuts, headOf, listWindowOf, pointerTo } from "./cut.js";
import { type Fields, isFields } from "./fields.js";

export interface Todo {
  content: string;
  status: string;
}

export interface StateFile {
  path: string;
  /** Absent where the content is neither text nor lines. */
  text: string | undefined;
  /** Where the content stands, if the answer has not all of it. */
  pointer: string | undefined;
  modifiedAt: string | undefined;
}

/** What an answer shows of a list, and how much there is. */
export interface Shown<Entry> {
  entries: Entry[];
  length: number;
  /** Where the list stands. */
  pointer: string;
}

const MESSAGE_TYPES = new Set([
  ...["human", "ai", "tool", "system", "function", "developer", "chat", "remove"],
  ...["user", "assistant", "AIMessageChunk", "HumanMessageChunk", "ToolMessageChunk"],
]);

/** The placeholder that the server sends for a value it cannot show. */
export interface Opaque {
  codec: string;
  sizeBytes: number | undefined;
  reason: string;
}

export function opaqueOf(value: unknown): Opaque | undefined {
  if (!isFields(value) || Object.keys(value).length !== 1) return undefined;
  const inner = value["$opaque"];
  if (!isFields(inner)) return undefined;
  const { codec, size_bytes: sizeBytes, reason } = inner;
  return {
    codec: typeof codec === "string" ? codec : "unknown",
    sizeBytes: typeof sizeBytes === "number" ? sizeBytes : undefined,
    reason: typeof reason === "string" ? reason : "",
  };
}

export function isMessage(value: unknown): boolean {
  if (!isFields(value)) return false;
  if (value["type"] === "constructor" && isFields(value["kwargs"])) return true;
  const kind = value["type"] ?? value["role"];
  return (
    typeof kind === "string" && MESSAGE_TYPES.has(kind) && ("content" in value || kind === "remove")
  );
}

/** The messages of a state that its answer has: the first one is number `from` of `length`. */
export interface MessageWindow {
  /** Absent for a graph whose only value is the list. */
  channel: string | undefined;
  messages: unknown[];
  from: number;
  length: number;
}

/** The messages of the channel `messages`, else of the first channel that is a list of messages. */
export function messageWindowOf(values: unknown): MessageWindow | undefined {
  const found =
    cutOf(values) || !isFields(values) ? undefined : channelOf(values, "messages", isMessages);
  if (!found && !isMessages(values)) return undefined;
  const [channel, value] = found ?? [undefined, values];
  const { items = [], from = 0, length = 0 } = listWindowOf(value) ?? {};
  return { channel, messages: items, from, length };
}

export function messagesOf(values: unknown): unknown[] {
  return messageWindowOf(values)?.messages ?? [];
}

function isMessages(value: unknown): boolean {
  const items = listWindowOf(value)?.items ?? [];
  return items.length > 0 && items.every(isMessage);
}

/** The channel of this name, if it has the shape, else the first one that has. */
function channelOf(
  values: Fields,
  name: string,
  hasShape: (value: unknown) => boolean,
): [name: string, value: unknown] | undefined {
  const named: [string, unknown][] = Object.hasOwn(values, name) ? [[name, values[name]]] : [];
  return [...named, ...Object.entries(values)].find(([, value]) => hasShape(value));
}

/** The todos of a state; undefined where it has none. */
export function todosOf(values: unknown): Shown<Todo> | undefined {
  const found = isFields(values) ? channelOf(values, "todos", isTodos) : undefined;
  if (!found) return undefined;
  const { items = [], length = 0 } = listWindowOf(found[1]) ?? {};
  const entries = items.filter(isFields).map(({ content, status }) => ({
    content: textOf(content),
    status: textOf(status),
  }));
  return { entries, length, pointer: pointerTo(found[0]) };
}

/** A text, or the beginning of one that is cut. */
function textOf(value: unknown): string {
  return cutOf(value) ? `${String(headOf(value))} …` : String(value);
}

function isTodos(value: unknown): boolean {
  const isText = (one: unknown) => typeof headOf(one) === "string";
  const isTodo = (one: unknown) =>
    isFields(one) && isText(one["content"]) && isText(one["status"]) && !isMessage(one);
  const items = listWindowOf(value)?.items ?? [];
  return items.length > 0 && items.every(isTodo);
}

/** The files of a state, by path; undefined where it has none. */
export function filesOf(values: unknown): Shown<StateFile> | undefined {
  const found = isFields(values) ? channelOf(values, "files", isFiles) : undefined;
  if (!found) return undefined;
  const [channel, value] = found;
  const { fields = {}, length = 0 } = fieldsWindowOf(value) ?? {};
  const entries = Object.entries(fields).map(([path, file]) => fileOf(channel, path, file));
  return { entries, length, pointer: pointerTo(channel) };
}

function isFiles(value: unknown): boolean {
  const entries = Object.entries(fieldsWindowOf(value)?.fields ?? {});
  return (
    entries.length > 0 && entries.every(([path, file]) => path.startsWith("/") && isFile(file))
  );
}

function isFile(value: unknown): boolean {
  return typeof headOf(value) === "string" || (isFields(value) && "content" in value);
}

function fileOf(channel: string, path: string, file: unknown): StateFile {
  const isObject = isFields(file) && !cutOf(file);
  const content = isObject ? file["content"] : file;
  const modified = isObject ? file["modified_at"] : undefined;
  const way = isObject ? [channel, path, "content"] : [channel, path];
  return {
    path,
    text: fileText(headOf(content)),
    pointer: hasCuts(content) ? pointerTo(...way) : undefined,
    modifiedAt: typeof modified === "string" ? modified : undefined,
  };
}

/** The text of a file's content: deepagents keep it as one text or as its lines. */
export function fileText(content: unknown): string | undefined {
  if (typeof content === "string") return content;
  const isLines = Array.isArray(content) && content.every((line) => typeof line === "string");
  return isLines ? content.join("\n") : undefined;
}
