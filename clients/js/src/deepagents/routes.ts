/**
 * The recommended places of an agent's files: nothing large stays in checkpoints. The paths are those of the drive that people see: memories
 * and workspace belong to the user, what deepagents puts aside (large results, histories) to the thread.
 */

import type { AnyBackendProtocol } from "deepagents";
import * as deepagents from "deepagents";
import { InvalidError } from "../errors.js";
import type { ConnectionOptions } from "../http/settings.js";
import { label } from "../labels.js";
import { ThreadkeepRoutes } from "./aliases.js";
import { ThreadkeepBackend } from "./backend.js";
import { type BackendContext, threadIdIn } from "./context.js";
import { type WholeBackend, Workspace } from "./workspace.js";

/** Whose files: a text, or a function that is asked in each operation. */
export type UserId = string | ((context: BackendContext) => string | Promise<string>);

export interface ThreadkeepRoutesOptions extends ConnectionOptions {
  /** Whose artifacts. Default: those of the thread that runs. */
  threadId?: string | undefined;
  /** Everything that has no route, such as a sandbox; `/workspace/` is there too then. Default: the user's workspace. */
  default?: AnyBackendProtocol | undefined;
}

export interface DriveOptions extends Omit<ThreadkeepRoutesOptions, "default"> {
  /** Default "cloud". */
  device?: "cloud" | "desktop" | undefined;
  /** On the desktop: the folder that is the workspace. */
  rootDir?: string | undefined;
}

const ARTIFACTS = ["/large_tool_results/", "/conversation_history/"];
/** Whose artifacts they are where no thread is known. */
const THREAD_UNKNOWN = "default";
const MEMORIES = "/memories/";
const ALIASES = { "/memory": "/memories" };

/**
 * The backend to give to `createDeepAgent`: `/memories/` is the user's memory, `/large_tool_results/` and `/conversation_history/` are the
 * thread's, everything else is the user's workspace (`/workspace/x` is `/x`).
 */
export function threadkeepRoutes(
  userId: UserId,
  options: ThreadkeepRoutesOptions = {},
): ThreadkeepRoutes {
  const { default: fallback } = options;
  return routed(userId, options, fallback ?? workspace(ofUser(userId, "workspace", options)));
}

/**
 * The same routes on every device. On the desktop the workspace is the local folder `rootDir`, and nothing outside of it can be reached; memories
 * and artifacts stay on the server.
 */
export function driveBackend(userId: UserId, options: DriveOptions = {}): ThreadkeepRoutes {
  const { device = "cloud", rootDir } = options;
  if (device === "cloud") return threadkeepRoutes(userId, options);
  if (device !== "desktop") {
    throw new InvalidError("device is cloud or desktop", { field: "device" });
  }
  if (!rootDir) {
    throw new InvalidError("on the desktop, rootDir names the folder", { field: "rootDir" });
  }
  // The build of deepagents for browsers lacks it, so it is not imported by its name.
  if (!("FilesystemBackend" in deepagents)) {
    throw new InvalidError("there are no local folders here", { field: "device" });
  }
  const local = new deepagents.FilesystemBackend({ rootDir, virtualMode: true });
  return routed(userId, options, workspace(local));
}

function routed(
  userId: UserId,
  options: ThreadkeepRoutesOptions,
  fallback: AnyBackendProtocol,
): ThreadkeepRoutes {
  const artifacts = async (context: BackendContext) => {
    const threadId = options.threadId ?? threadIdIn(context) ?? THREAD_UNKNOWN;
    return [await labelNow(userId, context), "threads", label(threadId), "artifacts"];
  };
  const routes = ARTIFACTS.map((root) => {
    return [root, new ThreadkeepBackend({ ...options, namespace: artifacts, root })] as const;
  });
  const memories = ofUser(userId, "filesystem", options);
  const all = { [MEMORIES]: memories, ...Object.fromEntries(routes) };
  return new ThreadkeepRoutes(fallback, all, ALIASES);
}

function workspace(backend: WholeBackend): Workspace {
  const routes = [MEMORIES, ...ARTIFACTS].map((route) => route.slice(0, -1));
  return new Workspace(backend, [...routes, ...Object.keys(ALIASES)]);
}

function ofUser(userId: UserId, place: string, options: ConnectionOptions): ThreadkeepBackend {
  const namespace = async (context: BackendContext) => [await labelNow(userId, context), place];
  return new ThreadkeepBackend({ ...options, namespace });
}

async function labelNow(userId: UserId, context: BackendContext): Promise<string> {
  const found = typeof userId === "function" ? await userId(context) : userId;
  if (typeof found === "string" && found !== "") return label(found);
  throw new InvalidError("the user's id is no text, or an empty one", { field: "userId" });
}
