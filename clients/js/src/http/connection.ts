/** One call to the server: send, retry, check the answer. Only what every runtime with fetch has. */

import { ProtocolError } from "../errors.js";
import { unpacked } from "../wire/packing.js";
import { downloaded } from "./download.js";
import { type Answer, Attempts, type SendFailure } from "./retry.js";
import type { Settings } from "./settings.js";

const MSGPACK = "application/msgpack";
/** A body may take longer than a request without one: a line of a megabyte in a second. */
const SENT_BYTES_PER_MS = 1_000;

type SentBody = Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array>;

/** One request, a POST unless it says otherwise. `path` begins with a slash and may end with a query. */
export interface Request {
  method?: "GET" | "POST" | "PUT" | "DELETE";
  path: string;
  /** A blob may be a file, which is read as it is sent. A stream can be read once, so it is never sent again. */
  body?: SentBody;
  /** How slowly the server may take the body. Default: a megabyte in a second. */
  bytesPerMs?: number;
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
    const isOnce = request.body instanceof ReadableStream;
    const settings = isOnce ? { ...this.#settings, attempts: 1 } : this.#settings;
    const attempts = new Attempts(settings, request.isWrite);
    for (;;) {
      const begun = Date.now();
      const outcome = await this.#send(request, answerOf);
      if ("status" in outcome && outcome.status >= 200 && outcome.status < 300) {
        return outcome;
      }
      const ms = attempts.msUntilNext(outcome, Date.now() - begun);
      await new Promise((resolve) => setTimeout(resolve, ms));
    }
  }

  /**
   * Sends until there is an answer that is a success; its body as it arrives. After a lost connection it goes on, where the
   * answer has an ETag; an error of the stream is a typed one.
   */
  async stream(request: Request): Promise<ReadableStream<Uint8Array>> {
    return await downloaded(this.#settings, (headers, canceller) =>
      this.#send(
        { ...request, headers: { ...request.headers, ...headers } },
        async (response) =>
          response.ok && response.body ? { response, body: response.body } : answerOf(response),
        canceller,
      ),
    );
  }

  async #send<Received>(
    request: Request,
    receive: (response: Response) => Promise<Received>,
    canceller = new AbortController(),
  ): Promise<Received | SendFailure> {
    const { url, fetch, requestTimeoutMs } = this.#settings;
    const { body = null, bytesPerMs = SENT_BYTES_PER_MS } = request;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const wait = () => {
      clearTimeout(timer);
      const ms = requestTimeoutMs + sizeOf(body) / bytesPerMs;
      timer = setTimeout(() => canceller.abort(), ms);
    };
    wait();
    try {
      const response = await fetch(url + request.path, {
        method: request.method ?? "POST",
        headers: {
          ...this.#headers,
          ...request.headers,
          ...(request.idempotencyKey ? { "idempotency-key": request.idempotencyKey } : {}),
        },
        ...(body instanceof ReadableStream ? streamed(body, wait) : { body }),
        redirect: "manual",
        signal: canceller.signal,
      });
      return await receive(response);
    } catch (cause) {
      return { cause, timedOut: canceller.signal.aborted };
    } finally {
      clearTimeout(timer);
    }
  }
}

/** A body of nobody knows how many bytes: time begins anew with each piece that the server takes. */
function streamed(body: ReadableStream<Uint8Array>, onPiece: () => void): RequestInit {
  const watched = body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, controller) {
        onPiece();
        controller.enqueue(piece);
      },
    }),
  );
  // The types do not know it yet; without it, no runtime sends a stream.
  return { body: watched, duplex: "half" } as RequestInit;
}

function sizeOf(body: SentBody | null): number {
  if (body === null || body instanceof ReadableStream) return 0;
  return body instanceof Blob ? body.size : body.byteLength;
}

async function answerOf(response: Response): Promise<Answer> {
  const body = new Uint8Array(await response.arrayBuffer());
  const mediaType = response.headers.get("content-type") ?? "";
  return {
    status: response.status,
    mediaType: mediaType.split(";", 1)[0]?.trim().toLowerCase() ?? "",
    retryAfter: response.headers.get("retry-after"),
    body,
  };
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
