/** Finds messages, todos and files in the values of a state by their shape. No name of a channel or a graph is taken for granted. */

export type Fields = Record<string, unknown>;

export interface Todo {
  content: string;
  status: string;
}

export interface StateFile {
  path: string;
  /** Absent where the content is neither text nor lines. */
  text: string | undefined;
  modifiedAt: string | undefined;
}

const MESSAGE_TYPES = new Set([
  ...["human", "ai", "tool", "system", "function", "developer", "chat", "remove"],
  ...["user", "assistant", "AIMessageChunk", "HumanMessageChunk", "ToolMessageChunk"],
]);

export function isFields(value: unknown): value is Fields {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !ArrayBuffer.isView(value)
  );
}

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

/** The messages of a state: of the channel `messages`, else of the first channel that is a list of messages. */
export function messagesOf(values: unknown): unknown[] {
  if (!isFields(values)) return isMessages(values) ? values : [];
  const named = values["messages"];
  if (isMessages(named)) return named;
  return Object.values(values).find(isMessages) ?? [];
}

function isMessages(value: unknown): value is unknown[] {
  return Array.isArray(value) && value.length > 0 && value.every(isMessage);
}

/** The todos of a state; undefined where it has none. */
export function todosOf(values: unknown): Todo[] | undefined {
  if (!isFields(values)) return undefined;
  const found = [values["todos"], ...Object.values(values)].find(isTodos);
  return found?.map(({ content, status }) => ({
    content: String(content),
    status: String(status),
  }));
}

function isTodos(value: unknown): value is Fields[] {
  const isTodo = (one: unknown) =>
    isFields(one) && typeof one["content"] === "string" && typeof one["status"] === "string";
  return (
    Array.isArray(value) && value.length > 0 && value.every((one) => isTodo(one) && !isMessage(one))
  );
}

/** The files of a state, by path; undefined where it has none. */
export function filesOf(values: unknown): StateFile[] | undefined {
  if (!isFields(values)) return undefined;
  const found = [values["files"], ...Object.values(values)].find(isFiles);
  return found && Object.entries(found).map(([path, file]) => fileOf(path, file));
}

function isFiles(value: unknown): value is Fields {
  if (!isFields(value)) return false;
  const entries = Object.entries(value);
  return (
    entries.length > 0 && entries.every(([path, file]) => path.startsWith("/") && isFile(file))
  );
}

function isFile(value: unknown): boolean {
  return typeof value === "string" || (isFields(value) && "content" in value);
}

function fileOf(path: string, file: unknown): StateFile {
  const { content, modified_at: modified } = isFields(file) ? file : { content: file };
  const isLines = Array.isArray(content) && content.every((line) => typeof line === "string");
  return {
    path,
    text: isLines ? content.join("\n") : typeof content === "string" ? content : undefined,
    modifiedAt: typeof modified === "string" ? modified : undefined,
  };
}
