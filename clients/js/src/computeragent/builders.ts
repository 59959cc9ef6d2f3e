/**
 * The builders of `kind: "http"`. What they are given may come from whoever may start a session, and is kept in snapshots: so
 * the token is never in it, and goes nowhere but to a server that this process trusts.
 */

import type { SessionStore } from "../claude/contract.js";
import { ThreadkeepSessionStore } from "../claude/session_store.js";
import { InvalidError } from "../errors.js";
import { type ConnectionOptions, environment } from "../http/settings.js";
import { ThreadkeepSaver } from "../langgraph/saver.js";

export const PROJECT_KEY = "computeragent";

/** What travels in a session's configuration. */
export interface HttpStoreOptions {
  /** Default: THREADKEEP_URL. Where that is set, or `urls` of the host, it must be one of them. */
  url?: string;
  /** Default "computeragent": used instead of what engines make of their working directories, which are new at each boot. */
  projectKey?: string;
  /** Until a call fails, attempts and pauses included. Default 30,000. */
  timeoutMs?: number;
  /** The environment variable that holds the key or token. Default THREADKEEP_API_KEY. */
  tokenEnv?: string;
}

/** What the process that builds says, and no configuration. */
export interface HttpStoreHost {
  /** Servers that options may name. Default: the one of THREADKEEP_URL, where that is set. */
  urls?: readonly string[];
  fetch?: typeof globalThis.fetch;
}

const KNOWN = new Set(["url", "projectKey", "timeoutMs", "tokenEnv"]);
const SECRET = /token|key|secret|password|passwd|credential|auth|bearer|cookie|header/i;
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** A key, a scoped token, or a JWT of a configured issuer. Another secret of the environment is sent to nobody. */
const CREDENTIAL = /^(tks?_[!-~]+|[\w-]+\.[\w-]+\.[\w-]+)$/;

/** The store of `sessionStores: { http: httpSessionStore }`: all six methods but `listSessionSummaries`. */
export function httpSessionStore(options?: unknown, host: HttpStoreHost = {}): SessionStore {
  const { connection, projectKey } = settingsOf(options, host);
  return new ThreadkeepSessionStore({ ...connection, projectKey });
}

/** A checkpointer on the same server, of the same options. Use the session's id as thread id. */
export function httpCheckpointer(options?: unknown, host: HttpStoreHost = {}): ThreadkeepSaver {
  return new ThreadkeepSaver(settingsOf(options, host).connection);
}

/** How to reach the server, from options that hold nothing secret. */
export function settingsOf(
  options: unknown,
  host: HttpStoreHost,
): { connection: ConnectionOptions; projectKey: string } {
  const { url, projectKey = PROJECT_KEY, timeoutMs, tokenEnv } = checked(options);
  if (projectKey === "") throw refused("projectKey", "must not be empty");
  const connection: ConnectionOptions = {
    url: trusted(url, host),
    apiKey: credentialOf(tokenEnv),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(host.fetch ? { fetch: host.fetch } : {}),
  };
  return { connection, projectKey };
}

function checked(options: unknown): HttpStoreOptions {
  if (options === undefined || options === null) return {};
  if (typeof options !== "object" || Array.isArray(options)) {
    throw refused("", "must be an object");
  }
  for (const [name, value] of Object.entries(options)) {
    if (!KNOWN.has(name)) throw refused(name, whyNot(name));
    const kind = name === "timeoutMs" ? "number" : "string";
    if (value !== undefined && typeof value !== kind) throw refused(name, `must be a ${kind}`);
  }
  return options as HttpStoreOptions;
}

function whyNot(name: string): string {
  if (name === "tenant") return "is not taken: the tenant is the token's";
  if (SECRET.test(name)) {
    return "is not taken: configurations are stored. Name the variable that holds the token in tokenEnv";
  }
  return "is not known";
}

/** The token goes with the address, so an address of the options must be one that this process would use anyway. */
function trusted(url: string | undefined, { urls }: HttpStoreHost): string | undefined {
  const own = environment("THREADKEEP_URL");
  const known = urls ?? (own ? [own] : undefined);
  if (url === undefined) return known?.[0];
  if (known && !known.map(bare).includes(bare(url))) {
    throw refused("url", "is none of the servers that this process trusts (THREADKEEP_URL)");
  }
  return url;
}

function bare(url: string): string {
  return url.replace(/\/+$/, "");
}

function credentialOf(tokenEnv: string | undefined): string | undefined {
  if (tokenEnv !== undefined && !VARIABLE.test(tokenEnv)) {
    throw refused("tokenEnv", "must be the name of an environment variable");
  }
  const found = environment(tokenEnv ?? "THREADKEEP_API_KEY") || undefined;
  if (found === undefined && tokenEnv !== undefined) {
    throw refused("tokenEnv", `names a variable that is not set: ${tokenEnv}`);
  }
  if (found !== undefined && !CREDENTIAL.test(found)) {
    throw refused("tokenEnv", "names a variable that holds no key or token of threadkeep");
  }
  return found;
}

function refused(name: string, why: string): InvalidError {
  const field = name === "" ? "options" : `options.${name}`;
  return new InvalidError(`${field} ${why}`, { field });
}
