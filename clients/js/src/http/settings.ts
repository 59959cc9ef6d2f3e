/** What a client is told when it is constructed, checked without any I/O. */

import { InvalidError } from "../errors.js";
import { type CallOptions, type Limits, limitsOf } from "./deadline.js";

/** How to reach the server. Everything has a default. */
export interface ConnectionOptions extends CallOptions {
  /** Default: THREADKEEP_URL, else http://127.0.0.1:7070. */
  url?: string | undefined;
  /** Default: THREADKEEP_API_KEY. */
  apiKey?: string | undefined;
  /** Default: the runtime's. */
  fetch?: typeof globalThis.fetch | undefined;
}

export interface Settings extends Limits {
  url: string;
  apiKey: string | undefined;
  fetch: typeof globalThis.fetch;
  /** Whether the options name the `fetch`. */
  hasOwnFetch: boolean;
  /** Whether the server is on this machine, where compressing costs more than sending. */
  isLoopback: boolean;
}

const URL_DEFAULT = "http://127.0.0.1:7070";
const TIMEOUT_MS = 30_000;

/** Settings from options, else from the environment where there is one, else the defaults. */
export function settingsOf(options: ConnectionOptions): Settings {
  const url = (options.url || environment("THREADKEEP_URL") || URL_DEFAULT).replace(/\/+$/, "");
  const isLoopback = isLoopbackHost(hostOf(url));
  return {
    url,
    apiKey: keyOf(options.apiKey),
    ...limitsOf({ timeoutMs: TIMEOUT_MS, signal: undefined }, options),
    // Bound when it is called: a runtime may replace its fetch later, to trace it for example.
    fetch: options.fetch ?? ((input, init) => globalThis.fetch(input, init)),
    hasOwnFetch: options.fetch !== undefined,
    isLoopback,
  };
}

/** Options that may be given as address and key alone. */
export function optionsOf<Options extends ConnectionOptions>(
  options: Options | string,
  apiKey: string | undefined,
): Options {
  if (typeof options !== "string") return options;
  const named: ConnectionOptions = { url: options, apiKey };
  return named as Options;
}

/** An empty key that is given is a mistake, most often a variable without a value; it is not the one of the environment. */
function keyOf(given: string | undefined): string | undefined {
  const apiKey = given ?? (environment("THREADKEEP_API_KEY") || undefined);
  if (apiKey === "") {
    throw new InvalidError(
      "apiKey is empty: leave it out to use THREADKEEP_API_KEY, or to send none",
      { field: "apiKey" },
    );
  }
  if (apiKey !== undefined && !/^[!-~]+$/.test(apiKey)) {
    throw new InvalidError("apiKey must be visible ASCII characters", { field: "apiKey" });
  }
  return apiKey;
}

function hostOf(url: string): string {
  let parts: URL | undefined;
  try {
    parts = new URL(url);
  } catch {
    // Said below, without the text: it may hold a password.
  }
  if (parts && /^postgres(ql)?:$|^sqlite:$/.test(parts.protocol)) {
    throw new InvalidError(
      "url must be the address of a threadkeep server, http(s)://host[:port]: the database is named to the server, " +
        "with --database-url",
      { field: "url" },
    );
  }
  const isHttp = parts?.protocol === "http:" || parts?.protocol === "https:";
  if (!parts || !isHttp || parts.search || parts.hash || parts.username || parts.password) {
    throw new InvalidError("url must be http(s)://host[:port][/prefix]", { field: "url" });
  }
  return parts.hostname;
}

function isLoopbackHost(host: string): boolean {
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
