/**
 * Whether the `fetch` of the moment is the one that Node.js came with, and sends requests as they come. Whoever replaced it or the dispatcher
 * behind it, for a proxy, a trace or a test, wants to see them.
 */

interface Process {
  env?: Record<string, string | undefined>;
  execArgv?: string[];
}
interface Dispatcher extends Record<symbol, unknown> {
  dispatch: unknown;
}

const DISPATCHER = Symbol.for("undici.globalDispatcher.1");
/** What was looked at last: it seldom changes, and every request asks. */
const seen = {
  fetch: undefined as unknown,
  isOfNode: false,
  dispatcher: undefined as unknown,
  isPlain: true,
};

/** Asked before each request, because both may be replaced at any time. */
export function isFetchOfNode(): boolean {
  const { fetch } = globalThis;
  if (fetch !== seen.fetch) {
    seen.fetch = fetch;
    // Its text is JavaScript in Node.js only.
    seen.isOfNode = typeof fetch === "function" && /internal\/deps\/undici/.test(String(fetch));
  }
  if (!seen.isOfNode) return false;
  const dispatcher = (globalThis as Record<symbol, unknown>)[DISPATCHER];
  if (dispatcher !== seen.dispatcher) {
    seen.dispatcher = dispatcher;
    seen.isPlain = isPlain(dispatcher as Dispatcher | undefined);
  }
  return seen.isPlain;
}

/** Whether Node.js was started so that `fetch` takes the proxy of the environment. */
export function isProxied(): boolean {
  const { process } = globalThis as { process?: Process };
  const { env = {}, execArgv = [] } = process ?? {};
  return (
    Boolean(env["NODE_USE_ENV_PROXY"]) ||
    [...execArgv, env["NODE_OPTIONS"] ?? ""].some((one) => one.includes("--use-env-proxy"))
  );
}

/** Whether this is an agent without options, as Node.js makes it before its first `fetch`. */
function isPlain(dispatcher: Dispatcher | undefined): boolean {
  if (!dispatcher) return true;
  const kind = Object.getPrototypeOf(dispatcher) as Dispatcher;
  // With interceptors it has a `dispatch` of its own.
  if (kind.constructor.name !== "Agent" || dispatcher.dispatch !== kind.dispatch) return false;
  const symbols = Object.getOwnPropertySymbols(dispatcher);
  const name = symbols.find(({ description }) => description === "options");
  const options = name && dispatcher[name];
  if (typeof options !== "object" || options === null) return false;
  return Object.values(options).every((value) => value === undefined || value === Infinity);
}
