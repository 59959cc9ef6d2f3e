/** Calls of `/agentrail/v1`: JSON both ways, as messages and events are, and every id one percent-encoded segment of the path. */

import {
  DocumentNotFoundError,
  InvalidError,
  ProtocolError,
  SessionNotFoundError,
} from "../errors.js";
import type { Connection, Request } from "../http/connection.js";
import { segmentOf } from "../wire/ids.js";
import type { SessionPlace } from "./session_ref.js";

const JSON_HEADERS = { accept: "application/json", "content-type": "application/json" };
const PREFIX = "/agentrail/v1";

export type Answer = Record<string, unknown>;

/** The method and the idempotency key of a write. */
export interface Write {
  method?: "POST" | "PUT" | "DELETE";
  /** For writes that a second time would be other ones: the same key for all attempts of one call. */
  idempotencyKey?: string;
}

/** Sends over one connection. */
export class AgentrailCalls {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  async get(path: string): Promise<Answer> {
    return await this.#send({ method: "GET", path, isWrite: false });
  }

  /** Undefined when there is no such thing. */
  async find(path: string): Promise<Answer | undefined> {
    try {
      return await this.get(path);
    } catch (error) {
      // Another 404 is not an answer about the thing.
      const isAbsent =
        error instanceof SessionNotFoundError || error instanceof DocumentNotFoundError;
      if (isAbsent) return undefined;
      throw error;
    }
  }

  async send(path: string, body: object, write: Write = {}): Promise<Answer> {
    return await this.sendText(path, jsonOf(body, "what is sent"), write);
  }

  /** The same, of JSON text. */
  async sendText(path: string, text: string, write: Write = {}): Promise<Answer> {
    const { method = "POST", idempotencyKey } = write;
    const body = new TextEncoder().encode(text);
    return await this.#send({ method, path, body, isWrite: true, idempotencyKey });
  }

  async delete(path: string): Promise<void> {
    await this.#send({ method: "DELETE", path, isWrite: true });
  }

  /** Whether the server can serve. */
  async probe(): Promise<void> {
    await this.#connection.answer({ method: "GET", path: "/readyz", isWrite: false });
  }

  async #send(request: Request): Promise<Answer> {
    const answer = await this.#connection.answer({ ...request, headers: JSON_HEADERS });
    const { status, mediaType, body } = answer;
    if (body.length === 0) return {};
    if (mediaType !== "application/json") {
      const found = mediaType || "of no media type";
      throw new ProtocolError(`the answer is ${found}, not JSON`, { status });
    }
    let found: unknown;
    try {
      found = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    } catch (cause) {
      throw new ProtocolError("the answer cannot be decoded", { status, cause });
    }
    if (typeof found !== "object" || found === null || Array.isArray(found)) {
      throw new ProtocolError("the answer is no object", { status });
    }
    return found as Answer;
  }
}

/** The path of a session and what is below it. */
export function sessionPath({ tenantId, sessionId }: SessionPlace, ...more: string[]): string {
  const session = segmentOf(sessionId, "sessionId");
  return [tenantPath(tenantId), "s", session, ...more].join("/");
}

/** The path of a tenant of Agentrail's. */
export function tenantPath(tenantId: string, ...more: string[]): string {
  return [PREFIX, "t", segmentOf(tenantId, "tenantId"), ...more].join("/");
}

/** A list of an answer, its entries as they are. */
export function entriesOf<T>(answer: Answer, name: string): T[] {
  const found = answer[name];
  if (!Array.isArray(found)) throw lacks(name);
  return found as T[];
}

export function numberOf(answer: Answer, name: string): number {
  const found = answer[name];
  if (typeof found !== "number") throw lacks(name);
  return found;
}

export function textIn(answer: Answer, name: string): string {
  const found = answer[name];
  if (typeof found !== "string") throw lacks(name);
  return found;
}

function lacks(name: string): ProtocolError {
  return new ProtocolError(`the answer lacks ${name}, or has something else there`);
}

/** JSON of an object. Throws InvalidError. */
export function jsonOf(value: object, what: string): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    throw new InvalidError(`${what} is not JSON: ${cause}`, { cause });
  }
}
