/** One call to the server: send, retry, check the answer. By `fetch`, which every runtime has, or by what is faster. */

import { ProtocolError } from "../errors.js";
import { unpacked } from "../wire/packing.js";
import { type CallOptions, Deadline, type Limits, limitsOf } from "./deadline.js";
import { downloaded, type Opened } from "./download.js";
import { EventStream } from "./event_stream.js";
import { type Canceller, nodeSend, type Send } from "./node_http.js";
import { type Answer, errorOf, mediaTypeOf, type Outcome, type SendFailure } from "./outcome.js";
import { isFetchOfNode } from "./own_fetch.js";
import { Attempts, budgetMs } from "./retry.js";
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
  /** Default: the connection's. */
  options?: CallOptions | undefined;
  /** Of a call that sends several requests. Default: one that begins now. */
  deadline?: Deadline | undefined;
}

/** Calls of one client. Opens nothing before the first one. */
export class Connection {
  // Private to the language, so that no log or inspector shows the key.
  readonly #settings: Settings;
  readonly #headers: Record<string, string>;
  /** Faster than `fetch`, where the runtime has it and nobody gave another one. */
  readonly #send: Send | undefined;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#headers = headersOf(settings);
    this.#send = settings.hasOwnFetch ? undefined : nodeSend(settings.url);
  }

  /** Where the server is. Holds no secret. */
  get url(): string {
    return this.#settings.url;
  }

  get limits(): Limits {
    return this.#settings;
  }

  /** The same connection with other limits. */
  withOptions(options: CallOptions): Connection {
    return new Connection({ ...this.#settings, ...limitsOf(this.#settings, options) });
  }

  /** The time of one call, which begins now. */
  deadline(options: CallOptions = {}): Deadline {
    return new Deadline(limitsOf(this.#settings, options));
  }

  /** The answer's map. Throws a typed error; never returns a failure. */
  async call(request: Request): Promise<Record<string, unknown>> {
    return decoded(await this.answer(request), this.#settings.url);
  }

  /** Sends until the answer is a success, whatever it holds. */
  async answer(request: Request): Promise<Answer> {
    const { url } = this.#settings;
    const { bytesPerMs = SENT_BYTES_PER_MS, deadline = this.deadline(request.options) } = request;
    deadline.extend(sizeOf(request.body) / bytesPerMs);
    const attempts = new Attempts(url, request.isWrite);
    for (;;) {
      const [msLeft, begun] = [deadline.msLeft, performance.now()];
      const outcome = await this.#attempt(request, deadline);
      if ("status" in outcome && outcome.status >= 200 && outcome.status < 300) {
        return outcome;
      }
      if (request.body instanceof ReadableStream) throw errorOf(outcome, url);
      const attempt = { outcome, elapsedMs: performance.now() - begun, budgetMs: budgetMs(msLeft) };
      await deadline.pause(attempts.msUntilNext(attempt, deadline.msLeft));
    }
  }

  /**
   * Sends until there is an answer that is a success; its body as it arrives. After a lost connection it goes on, where the
   * answer has an ETag; an error of the stream is a typed one. What arrives gives the call its time anew.
   */
  async stream(request: Request): Promise<ReadableStream<Uint8Array>> {
    const limits = limitsOf(this.#settings, request.options ?? {});
    return await downloaded(this.#settings.url, limits, (headers, deadline, canceller) => {
      const asked = { ...request, headers: { ...request.headers, ...headers } };
      return this.#open(asked, deadline, canceller);
    });
  }

  /** Server-sent events as they arrive, also over lost connections. `pathOf` gives the path of the events after a position. */
  events(pathOf: (position: string | undefined) => string, position?: string): EventStream {
    const headers = { accept: "text/event-stream" };
    return new EventStream(
      this.#settings.url,
      this.#settings,
      (after, deadline, canceller) => {
        const request = { method: "GET", path: pathOf(after), headers, isWrite: false } as const;
        return this.#open(request, deadline, canceller);
      },
      position,
    );
  }

  /** Sends once; the body of a success is not read. */
  #open(
    request: Request,
    deadline: Deadline,
    canceller: AbortController,
  ): Promise<Opened | Answer | SendFailure> {
    return this.#fetch(
      request,
      deadline,
      async (response) =>
        response.ok && response.body ? { response, body: response.body } : answerOf(response),
      canceller,
    );
  }

  /** Sends once and waits for all of the answer. */
  #attempt(request: Request, deadline: Deadline): Promise<Outcome> {
    const { method = "POST", path, body } = request;
    const send = isFetchOfNode() ? this.#send : undefined;
    const onHead = (bodyBytes: number) => deadline.extend(bodyBytes / SENT_BYTES_PER_MS);
    if (!send || (body !== undefined && !(body instanceof Uint8Array))) {
      return this.#fetch(request, deadline, (response) => {
        onHead(Number(response.headers.get("content-length")) || 0);
        return answerOf(response);
      });
    }
    const canceller: Canceller = { abort: () => {} };
    return deadline.during(() => {
      const headers = this.#headersOf(request, deadline);
      return send({ method, path, headers, body }, canceller, onHead);
    }, canceller);
  }

  #headersOf({ headers, idempotencyKey }: Request, deadline: Deadline): Record<string, string> {
    return {
      ...this.#headers,
      "threadkeep-budget-ms": String(budgetMs(deadline.msLeft)),
      ...headers,
      ...(idempotencyKey ? { "idempotency-key": idempotencyKey } : {}),
    };
  }

  async #fetch<Received>(
    request: Request,
    deadline: Deadline,
    receive: (response: Response) => Promise<Received>,
    canceller = new AbortController(),
  ): Promise<Received | SendFailure> {
    const { url, fetch } = this.#settings;
    const { body = null } = request;
    return await deadline.during(async () => {
      const response = await fetch(url + request.path, {
        method: request.method ?? "POST",
        headers: this.#headersOf(request, deadline),
        ...(body instanceof ReadableStream ? streamed(body, () => deadline.renew()) : { body }),
        redirect: "manual",
        signal: canceller.signal,
      });
      return await receive(response);
    }, canceller);
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

function sizeOf(body: SentBody | undefined): number {
  if (body === undefined || body instanceof ReadableStream) return 0;
  return body instanceof Blob ? body.size : body.byteLength;
}

async function answerOf(response: Response): Promise<Answer> {
  const body = new Uint8Array(await response.arrayBuffer());
  return {
    status: response.status,
    mediaType: mediaTypeOf(response.headers.get("content-type")),
    retryAfter: response.headers.get("retry-after"),
    body,
  };
}

function headersOf(settings: Settings): Record<string, string> {
  const headers: Record<string, string> = {
    accept: MSGPACK,
    "content-type": MSGPACK,
  };
  if (settings.isLoopback) headers["accept-encoding"] = "identity";
  if (settings.apiKey !== undefined) headers["authorization"] = `Bearer ${settings.apiKey}`;
  return headers;
}

/** The body of a successful answer, which is always a map. */
function decoded({ status, mediaType, body }: Answer, url: string): Record<string, unknown> {
  if (mediaType !== MSGPACK) {
    const found = mediaType || "of no media type";
    throw new ProtocolError(`the answer of ${url} is ${found}, not MessagePack`, { status });
  }
  let answer: unknown;
  try {
    answer = unpacked(body);
  } catch (cause) {
    throw new ProtocolError(`the answer of ${url} cannot be decoded`, { status, cause });
  }
  if (typeof answer !== "object" || answer === null || Array.isArray(answer)) {
    throw new ProtocolError(`the answer of ${url} is not a map`, { status });
  }
  return answer as Record<string, unknown>;
}
