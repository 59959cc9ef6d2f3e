/** The outcome of an attempt, and the typed error of one that failed. */

import { ProtocolError, type ThreadkeepError, TransportError } from "../errors.js";
import { errorOfProblem, errorOfStatus } from "../problems.js";

/** A complete HTTP answer, whatever its status. */
export interface Answer {
  status: number;
  mediaType: string;
  retryAfter: string | null;
  body: Uint8Array;
}

/** No complete answer arrived. `timedOut` tells the end of the call's time from a connection lost. */
export interface SendFailure {
  cause: unknown;
  timedOut: boolean;
}

export type Outcome = Answer | SendFailure;

/** A `Content-Type` without its parameters. */
export function mediaTypeOf(header: string | null | undefined): string {
  return header?.split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** Another attempt would fail in the same way: no TLS there, or a certificate that is not trusted. */
export function isPermanent({ cause }: SendFailure): boolean {
  return /^(ERR_SSL_|ERR_TLS_|CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/.test(
    reasonOf(cause).code,
  );
}

/** The typed error of an outcome that is not a success. `url` has no secret. */
export function errorOf(outcome: Outcome, url: string): ThreadkeepError {
  if (!("status" in outcome)) {
    return new TransportError(transportText(outcome, url), { cause: outcome.cause });
  }
  const { status, mediaType } = outcome;
  if (mediaType === "application/problem+json") {
    const problem = problemIn(outcome.body);
    if (problem) return errorOfProblem(status, withHint(problem, url));
  }
  if (status < 400) {
    return new ProtocolError(`${url} gave a redirect or an empty answer`, { status });
  }
  const found = mediaType || "no media type";
  return errorOfStatus(status, `HTTP ${status} of ${url} with no problem document (${found})`);
}

/** Returns the text of the error when the time of a call is over. */
export function silenceText(url: string): string {
  return `no answer from ${url} in time: it hangs, or is out of reach`;
}

function transportText({ cause, timedOut }: SendFailure, url: string): string {
  if (timedOut) return silenceText(url);
  const { code, text } = reasonOf(cause);
  const about = `${code} ${text}`;
  if (/refused/i.test(about)) {
    return (
      `no server listens at ${url} (connection refused). Start one with \`threadkeep serve\`, or name the address of yours ` +
      "in `url` or THREADKEEP_URL"
    );
  }
  if (/ENOTFOUND|EAI_AGAIN/.test(code)) return `the host of ${url} is not known (${code})`;
  if (/^ERR_SSL_(WRONG_VERSION|PACKET_LENGTH)/.test(code)) {
    return `no TLS at ${url}: write http:// where the server has none (${code})`;
  }
  return `the connection to ${url} failed: ${text}`;
}

/** The reason of a failed fetch is one level down, and where several addresses were tried, two. */
function reasonOf(cause: unknown): { code: string; text: string } {
  let inner = cause;
  while (inner instanceof Error && inner.cause instanceof Error) inner = inner.cause;
  if (inner instanceof AggregateError && inner.errors[0] instanceof Error) [inner] = inner.errors;
  if (!(inner instanceof Error)) return { code: "", text: String(inner) };
  const { code } = inner as { code?: unknown };
  return { code: typeof code === "string" ? code : "", text: inner.message || inner.name };
}

/** The client adds /v1 by itself. */
function withHint(problem: Record<string, unknown>, url: string): Record<string, unknown> {
  if (problem["code"] !== "not_found" || !/\/v1$/.test(url)) return problem;
  const detail = `${String(problem["detail"])}: write \`url\` without /v1, which the client adds (${url})`;
  return { ...problem, detail };
}

function problemIn(body: Uint8Array): Record<string, unknown> | undefined {
  try {
    const problem: unknown = JSON.parse(new TextDecoder().decode(body));
    return typeof problem === "object" && problem !== null
      ? (problem as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}
