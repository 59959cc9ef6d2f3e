/** One call to the server: send, retry, check the answer. Only what every runtime with fetch has. */

import { ProtocolError } from "../errors.js";
import { unpacked } from "../wire/packing.js";
import { type Answer, Attempts, type Outcome } from "./retry.js";
import type { Settings } from "./settings.js";

const MSGPACK = "application/msgpack";

/** One request, a POST unless it says otherwise. `path` begins with a slash and may end with a query. */
export interface Request {
  method?: "GET" | "POST" | "PUT" | "DELETE";
  path: string;
  body?: Uint8Array<ArrayBuffer>;
  /** Instead of those of a MessagePack call. */
  headers?: Record<string, string>;
  isWrite: boolean;
  idempotencyKey?: string | undefined;
}

/** Calls of one client. Opens nothing before the first one. */
export class Connection {
  // Private to the language, so that no log or inspector shows the key.
  readonly #settings: Settings;
  readonly #headers: Record<string, string>;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#headers = headersOf(settings);
  }

  /** The answer's map. Throws a typed error; never returns a failure. */
  async call(request: Request): Promise<Record<string, unknown>> {
    return decoded(await this.answer(request));
  }

  /** Sends until the answer is a success, whatever it holds. */
  async answer(request: Request): Promise<Answer> {
    const attempts = new Attempts(this.#settings, request.isWrite);
    for (;;) {
      const begun = Date.now();
      const outcome = await this.#send(request);
      if ("status" in outcome && outcome.status >= 200 && outcome.status < 300) {
        return outcome;
      }
      const ms = attempts.msUntilNext(outcome, Date.now() - begun);
      await new Promise((resolve) => setTimeout(resolve, ms));
    }
  }

  async #send(request: Request): Promise<Outcome> {
    const { url, fetch, requestTimeoutMs } = this.#settings;
    const canceller = new AbortController();
    const timer = setTimeout(() => canceller.abort(), requestTimeoutMs);
    try {
      const response = await fetch(url + request.path, {
        method: request.method ?? "POST",
        headers: {
          ...this.#headers,
          ...request.headers,
          ...(request.idempotencyKey ? { "idempotency-key": request.idempotencyKey } : {}),
        },
        body: request.body ?? null,
        redirect: "manual",
        signal: canceller.signal,
      });
      const body = new Uint8Array(await response.arrayBuffer());
      const mediaType = response.headers.get("content-type") ?? "";
      return {
        status: response.status,
        mediaType: mediaType.split(";", 1)[0]?.trim().toLowerCase() ?? "",
        retryAfter: response.headers.get("retry-after"),
        body,
      };
    } catch (cause) {
      return { cause, timedOut: canceller.signal.aborted };
    } finally {
      clearTimeout(timer);
    }
  }
}

function headersOf(settings: Settings): Record<string, string> {
  const headers: Record<string, string> = {
    accept: MSGPACK,
    "content-type": MSGPACK,
    "threadkeep-budget-ms": String(settings.budgetMs),
  };
  if (settings.isLoopback) headers["accept-encoding"] = "identity";
  if (settings.apiKey !== undefined) headers["authorization"] = `Bearer ${settings.apiKey}`;
  return headers;
}

/** The body of a successful answer, which is always a map. */
function decoded({ status, mediaType, body }: Answer): Record<string, unknown> {
  if (mediaType !== MSGPACK) {
    const found = mediaType || "of no media type";
    throw new ProtocolError(`the answer is ${found}, not MessagePack`, { status });
  }
  let answer: unknown;
  try {
    answer = unpacked(body);
  } catch (cause) {
    throw new ProtocolError("the answer cannot be decoded", { status, cause });
  }
  if (typeof answer !== "object" || answer === null || Array.isArray(answer)) {
    throw new ProtocolError("the answer is not a map", { status });
  }
  return answer as Record<string, unknown>;
}
