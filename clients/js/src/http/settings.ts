/** What a client is told when it is constructed, checked without any I/O. */

import { InvalidError } from "../errors.js";

/** How to reach the server. Everything has a default. */
export interface ConnectionOptions {
  /** Default: THREADKEEP_URL, else http://127.0.0.1:7070. */
  url?: string | undefined;
  /** Default: THREADKEEP_API_KEY. */
  apiKey?: string | undefined;
  /** For one attempt, connecting included. Default 60,000. */
  requestTimeoutMs?: number | undefined;
  /** Of one call, the first included. Default 4. */
  attempts?: number | undefined;
  /** Default: the runtime's. */
  fetch?: typeof globalThis.fetch | undefined;
}

export interface Settings {
  url: string;
  apiKey: string | undefined;
  requestTimeoutMs: number;
  attempts: number;
  fetch: typeof globalThis.fetch;
  /** The time given to the server to begin a write: always less than we wait for it. */
  budgetMs: number;
  /** Whether the server is on this machine, where compressing costs more than sending. */
  isLoopback: boolean;
}

const URL_DEFAULT = "http://127.0.0.1:7070";
const REQUEST_TIMEOUT_MS = 60_000;
const ATTEMPTS = 4;
/** The server refuses a write that it has not begun this long after its arrival. */
const BUDGET_MS_MAX = 30_000;

/** Settings from options, else from the environment where there is one, else the defaults. */
export function settingsOf(options: ConnectionOptions): Settings {
  const url = (options.url || environment("THREADKEEP_URL") || URL_DEFAULT).replace(/\/+$/, "");
  const apiKey = options.apiKey || environment("THREADKEEP_API_KEY") || undefined;
  const requestTimeoutMs = options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
  const attempts = options.attempts ?? ATTEMPTS;
  if (apiKey !== undefined && !/^[!-~]+$/.test(apiKey)) {
    throw new InvalidError("apiKey must be visible ASCII characters", { field: "apiKey" });
  }
  if (!(requestTimeoutMs > 0)) {
    throw new InvalidError("requestTimeoutMs must be greater than 0", {
      field: "requestTimeoutMs",
    });
  }
  if (!(Number.isInteger(attempts) && attempts >= 1)) {
    throw new InvalidError("attempts must be at least 1", { field: "attempts" });
  }
  return {
    url,
    apiKey,
    requestTimeoutMs,
    attempts,
    // Bound when it is called: a runtime may replace its fetch later, to trace it for example.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    budgetMs: Math.max(1, Math.min(BUDGET_MS_MAX, Math.floor(requestTimeoutMs / 2))),
    isLoopback: isLoopback(hostOf(url)),
  };
}

function hostOf(url: string): string {
  let parts: URL | undefined;
  try {
    parts = new URL(url);
  } catch {
    // Said below, without the text: it may hold a password.
  }
  const isHttp = parts?.protocol === "http:" || parts?.protocol === "https:";
  if (!parts || !isHttp || parts.search || parts.hash || parts.username || parts.password) {
    throw new InvalidError("url must be http(s)://host[:port][/prefix]", { field: "url" });
  }
  return parts.hostname;
}

function isLoopback(host: string): boolean {
  return /^(127\.[\d.]+|\[::1\]|localhost|.*\.localhost)$/.test(host);
}

/** A variable of the environment, where there is one. */
export function environment(name: string): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  try {
    return process?.env?.[name];
  } catch {
    // A runtime that asks for permission, and did not get it.
    return undefined;
  }
}
