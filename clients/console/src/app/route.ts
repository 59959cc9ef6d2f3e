/** Addresses of the console: what stands behind `#` as a typed route, and back. No other file reads or writes them. */

import type { ThreadStatus } from "threadkeep";
import { ACTS, type AuditAct } from "../nouns/tenants/acts.js";
import {
  decodeText,
  encodeText,
  labelsText,
  queryOf,
  queryText,
  splitOnce,
} from "./address_text.js";

export const STATUSES = ["interrupted", "busy", "error", "idle"] as const satisfies ThreadStatus[];
export const SORTS = [
  "state_updated",
  "updated",
  "created",
  "status",
  "size",
  "thread_id",
] as const;
export const ORDERS = ["desc", "asc"] as const;
export const THREAD_TABS = ["conversation", "timeline", "state", "diff", "storage"] as const;

export type ThreadSort = (typeof SORTS)[number];
export type Order = (typeof ORDERS)[number];
export type ThreadTab = (typeof THREAD_TABS)[number];

export interface ThreadsRoute {
  page: "threads";
  status?: ThreadStatus | undefined;
  q?: string | undefined;
  /** The subject whose they are. */
  owner?: string | undefined;
  sort?: ThreadSort | undefined;
  order?: Order | undefined;
}

export interface ThreadRoute {
  page: "thread";
  threadId: string;
  tab: ThreadTab;
  /** The checkpoint namespace; absent for the root graph. */
  ns?: string | undefined;
  checkpoint?: string | undefined;
  /** Of a diff. */
  from?: string | undefined;
  to?: string | undefined;
  /** The thread and the namespace of `from`; absent where they are those of `to`. */
  fromThread?: string | undefined;
  fromNs?: string | undefined;
}

export const STORE_MODES = ["filter", "words", "meaning", "hybrid"] as const;
export type StoreMode = (typeof STORE_MODES)[number];

export interface StoreRoute {
  page: "store";
  namespace: string[];
  key?: string | undefined;
  version?: string | undefined;
  q?: string | undefined;
  /** What `q` is: words, a text whose meaning is searched for, or the JSON of a filter. */
  mode?: StoreMode | undefined;
  /** The JSON of a filter beside words or a meaning. */
  filter?: string | undefined;
}

export interface FilesRoute {
  page: "files";
  place: "namespaces" | "namespace" | "drive";
  namespace: string[];
  path: string;
  subject?: string | undefined;
  /** A search below a folder: a pattern of paths, or of names where lines are searched too. */
  glob?: string | undefined;
  /** A text in lines. */
  grep?: string | undefined;
  /** A line of a file, from 1. */
  line?: string | undefined;
}

export interface SessionsRoute {
  page: "sessions";
  kind?: string | undefined;
  /** The first parts of the keys. */
  prefix?: string[] | undefined;
  user?: string | undefined;
}

export const SESSION_VIEWS = ["entries", "orchestration"] as const;
export type SessionView = (typeof SESSION_VIEWS)[number];

export interface SessionRoute {
  page: "session";
  kind: string;
  key: string[];
  stream?: string | undefined;
  document?: string | undefined;
  /** Absent: a conversation. The orchestration is one of Agentrail's, and of all streams. */
  view?: SessionView | undefined;
}

export interface SnapshotsRoute {
  page: "snapshots";
  /** Only those with this label. */
  label?: string | undefined;
  value?: string | undefined;
}

export interface SnapshotRoute {
  page: "snapshot";
  snapshotId: string;
}

export interface AuditRoute {
  page: "audit";
  act?: AuditAct | undefined;
  /** RFC 3339, in UTC. */
  since?: string | undefined;
  until?: string | undefined;
}

export const ACCESS_VIEWS = ["tokens", "subjects"] as const;
export type AccessView = (typeof ACCESS_VIEWS)[number];

export interface AccessRoute {
  page: "access";
  /** Absent: the keys. */
  show?: AccessView | undefined;
}

export interface RetentionRoute {
  page: "retention";
  /** A thread with a rule of its own. Absent: the tenant's. */
  thread?: string | undefined;
}

/** A tenant as an operator sees it. */
export interface TenantRoute {
  page: "tenant";
  tenant: string;
}

export type Route =
  | { page: "home" }
  | { page: "connect" }
  | { page: "inbox" }
  | { page: "usage" }
  | { page: "health" }
  | { page: "tenants" }
  | { page: "operators" }
  | TenantRoute
  | ThreadsRoute
  | ThreadRoute
  | StoreRoute
  | FilesRoute
  | SessionsRoute
  | SessionRoute
  | SnapshotsRoute
  | SnapshotRoute
  | AuditRoute
  | AccessRoute
  | RetentionRoute
  | { page: "missing"; address: string };

/** The address of a route, with its `#`. */
export function addressOf(route: Route): string {
  switch (route.page) {
    case "home":
      return "#/";
    case "connect":
    case "inbox":
    case "usage":
    case "health":
    case "tenants":
    case "operators":
      return `#/${route.page}`;
    case "tenant":
      return `#/tenants/${encodeText(route.tenant)}`;
    case "threads": {
      const { status, q, owner, sort, order } = route;
      return `#/threads${queryText({ status, q, owner, sort, order })}`;
    }
    case "thread":
      return threadAddress(route);
    case "store": {
      const { key, version, q, mode, filter } = route;
      return `#/store${labelsText(route.namespace)}${queryText({ key, version, q, mode, filter })}`;
    }
    case "files":
      return filesAddress(route);
    case "sessions": {
      const { kind, prefix, user } = route;
      return `#/sessions${queryText({ kind, prefix: prefix && labelsText(prefix), user })}`;
    }
    case "session": {
      const { kind, key, stream, document: doc, view } = route;
      return `#/sessions${labelsText([kind, ...key])}${queryText({ stream, doc, view })}`;
    }
    case "snapshots": {
      const { label, value } = route;
      return `#/snapshots${queryText({ label, value })}`;
    }
    case "snapshot":
      return `#/snapshots/${encodeText(route.snapshotId)}`;
    case "audit": {
      const { act, since, until } = route;
      return `#/audit${queryText({ act, since, until })}`;
    }
    case "access":
      return `#/access${queryText({ show: route.show })}`;
    case "retention":
      return `#/retention${queryText({ thread: route.thread })}`;
    case "missing":
      return `#${route.address}`;
  }
}

/** The route of an address. What no route has is `missing`; a value that a parameter cannot have is left out. */
export function routeOf(address: string): Route {
  const text = address.replace(/^#/, "") || "/";
  const [path = "/", query = ""] = splitOnce(text, "?");
  const [, section = "", ...rest] = path.split("/");
  const asked = queryOf(query);
  const segments = rest.map(decodeText);
  switch (section) {
    case "":
      return segments.length === 0 ? { page: "home" } : missing(text);
    case "connect":
    case "inbox":
    case "usage":
    case "health":
    case "operators":
      return segments.length === 0 ? { page: section } : missing(text);
    case "tenants":
      return tenantsRoute(segments, text);
    case "retention":
      return segments.length === 0 ? retentionRoute(asked) : missing(text);
    case "threads":
      return segments.length === 0 ? threadsRoute(asked) : threadRoute(segments, asked, text);
    case "store":
      return storeRoute(segments, asked);
    case "files":
      return filesRoute(segments, asked, text);
    case "sessions":
      return segments.length === 0 ? sessionsRoute(asked) : sessionRoute(segments, asked, text);
    case "snapshots":
      return snapshotsRoute(segments, asked, text);
    case "access": {
      const show = oneOf(ACCESS_VIEWS, asked.get("show"));
      return segments.length === 0 ? without<AccessRoute>({ page: section, show }) : missing(text);
    }
    case "audit":
      return segments.length === 0 ? auditRoute(asked) : missing(text);
    default:
      return missing(text);
  }
}

function missing(address: string): Route {
  return { page: "missing", address };
}

function threadAddress(route: ThreadRoute): string {
  const { threadId, tab, ns, checkpoint: cp, from, to } = route;
  const end = tab === "conversation" ? "" : `/${tab}`;
  const other = { from_thread: route.fromThread, from_ns: route.fromNs };
  return `#/threads/${encodeText(threadId)}${end}${queryText({ ns, cp, from, to, ...other })}`;
}

function threadRoute(segments: string[], asked: Map<string, string>, text: string): Route {
  const [threadId = "", tab = "conversation", ...more] = segments;
  const known = oneOf(THREAD_TABS, tab);
  if (threadId === "" || more.length > 0 || known === undefined) return missing(text);
  return without<ThreadRoute>({
    page: "thread",
    threadId,
    tab: known,
    ns: asked.get("ns"),
    checkpoint: asked.get("cp"),
    from: asked.get("from"),
    to: asked.get("to"),
    fromThread: asked.get("from_thread") || undefined,
    fromNs: asked.get("from_ns"),
  });
}

function threadsRoute(asked: Map<string, string>): ThreadsRoute {
  return without<ThreadsRoute>({
    page: "threads",
    status: oneOf(STATUSES, asked.get("status")),
    q: asked.get("q"),
    owner: asked.get("owner") || undefined,
    sort: oneOf(SORTS, asked.get("sort")),
    order: oneOf(ORDERS, asked.get("order")),
  });
}

function storeRoute(namespace: string[], asked: Map<string, string>): StoreRoute {
  return without<StoreRoute>({
    page: "store",
    namespace,
    key: asked.get("key"),
    version: asked.get("version"),
    q: asked.get("q"),
    mode: oneOf(STORE_MODES, asked.get("mode")),
    filter: asked.get("filter"),
  });
}

function filesAddress(route: FilesRoute): string {
  const { place, namespace, subject, glob, grep, line } = route;
  if (place === "namespaces") return "#/files";
  const at = place === "drive" ? "/drive" : `/ns${labelsText(namespace)}`;
  const path = route.path === "/" ? undefined : route.path;
  return `#/files${at}${queryText({ path, subject, glob, grep, line })}`;
}

function filesRoute(segments: string[], asked: Map<string, string>, text: string): Route {
  const [place, ...namespace] = segments;
  const path = asked.get("path") ?? "/";
  const subject = asked.get("subject");
  const search = { glob: asked.get("glob"), grep: asked.get("grep"), line: asked.get("line") };
  if (place === undefined) return { page: "files", place: "namespaces", namespace: [], path: "/" };
  if (place === "ns")
    return without<FilesRoute>({ page: "files", place: "namespace", namespace, path, ...search });
  if (place !== "drive" || namespace.length > 0) return missing(text);
  return without<FilesRoute>({ page: "files", place, namespace: [], path, subject, ...search });
}

function sessionsRoute(asked: Map<string, string>): SessionsRoute {
  const [kind, prefix, user] = [asked.get("kind"), asked.get("prefix"), asked.get("user")];
  const parts = prefix?.split("/").slice(1).map(decodeText);
  return without<SessionsRoute>({ page: "sessions", kind, prefix: parts, user });
}

function sessionRoute(segments: string[], asked: Map<string, string>, text: string): Route {
  const [kind = "", ...key] = segments;
  if (kind === "" || key.length === 0) return missing(text);
  return without<SessionRoute>({
    page: "session",
    kind,
    key,
    stream: asked.get("stream"),
    document: asked.get("doc"),
    view: oneOf(SESSION_VIEWS, asked.get("view")),
  });
}

function snapshotsRoute(segments: string[], asked: Map<string, string>, text: string): Route {
  const [snapshotId, ...more] = segments;
  const [label, value] = [asked.get("label"), asked.get("value")];
  if (snapshotId === undefined) {
    return without<SnapshotsRoute>({ page: "snapshots", label, value });
  }
  if (snapshotId === "" || more.length > 0) return missing(text);
  return { page: "snapshot", snapshotId };
}

function tenantsRoute([tenant, ...more]: string[], text: string): Route {
  if (tenant === undefined) return { page: "tenants" };
  return tenant === "" || more.length > 0 ? missing(text) : { page: "tenant", tenant };
}

function auditRoute(asked: Map<string, string>): AuditRoute {
  return without<AuditRoute>({
    page: "audit",
    act: oneOf(ACTS, asked.get("act")),
    since: timeIn(asked.get("since")),
    until: timeIn(asked.get("until")),
  });
}

function retentionRoute(asked: Map<string, string>): RetentionRoute {
  return without<RetentionRoute>({ page: "retention", thread: asked.get("thread") || undefined });
}

const UTC_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/;

function timeIn(text: string | undefined): string | undefined {
  const isTime = text !== undefined && UTC_TIME.test(text) && !Number.isNaN(Date.parse(text));
  return isTime ? text : undefined;
}

function oneOf<const T extends string>(
  allowed: readonly T[],
  value: string | undefined,
): T | undefined {
  return allowed.find((one) => one === value);
}

/** The same without entries that are undefined. */
function without<T extends Route>(route: T): T {
  return Object.fromEntries(Object.entries(route).filter(([, value]) => value !== undefined)) as T;
}
