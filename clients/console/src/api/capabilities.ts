/** Decides from the grants of the caller what it may do, by the rules of the server. A view asks before it offers an action. */

import type { Grants, Identity } from "threadkeep";
import { PERMISSIONS } from "./permissions.js";

export type Operation = keyof typeof PERMISSIONS;
type Named = "threads" | "sessions" | "snapshots";
export type Noun = Named | "namespaces";
export type Verb = "read" | "append" | "write";
export type Permission = `${Noun}:${Verb}`;

/** A thing that an operation works on. */
export type Thing = { isNew?: boolean } & (
  | { thread: string; owner?: string | undefined }
  /** The name of a session in grants: `kind:first/second`. */
  | { session: string; owner?: string | undefined }
  | { snapshot: string; owner?: string | undefined }
  | { namespace: readonly string[] }
  /** The tenant as a whole, or a thing of it that no other grant names: its policy, a token by its id. */
  | { tenant: true }
);
type Granted = Exclude<Thing, { tenant: true }>;

/** An operation, and the thing if it is known already. */
export interface Need {
  operation: Operation;
  thing?: Thing | undefined;
}

/** Operations that ask for more than the permission of their route. */
const ALSO: ReadonlyMap<Operation, Permission> = new Map<Operation, Permission>([
  ["create_thread", "threads:read"],
  ["update_thread", "threads:read"],
  ["edit_file", "namespaces:read"],
  ["move_files", "namespaces:read"],
  ["copy_files", "namespaces:read"],
  ["restore_item_version", "namespaces:read"],
]);
/** Tokens do none of these, because what they make would outlive them. */
const KEYS_ONLY: ReadonlySet<Operation> = new Set<Operation>([
  "create_key",
  "revoke_key",
  "mint_token",
]);
/** Operations for any credential of a tenant. An operator has none. */
const OF_TENANTS: ReadonlySet<Operation> = new Set<Operation>([
  "mint_token",
  "narrow_token",
  "revoke_token",
  "run_store_batch",
]);
/** Operations that create with `append` and replace only with `write`. */
const REPLACING: ReadonlySet<Operation> = new Set<Operation>([
  "put_item",
  "write_file",
  "put_file_content",
  "complete_upload",
  "upload_to_drive",
]);

/** Whether the server would allow it. Without a thing: for any thing at all. */
export function can(identity: Identity, operation: Operation, thing?: Thing): boolean {
  return missingOf(identity, { operation, thing }) === undefined;
}

/** The first permission that is missing, as a text for a person; undefined where all are there. */
export function missingOf(identity: Identity, need: Need): string | undefined {
  const { thing } = need;
  for (const permission of permissionsOf(need)) {
    if (!isGranted(identity, permission, thing)) {
      const isNamed = thing !== undefined && !("tenant" in thing);
      return isNamed ? `${permission} for ${nameOf(thing)}` : permission;
    }
  }
  if (identity.operator === true && OF_TENANTS.has(need.operation)) return "a key of a tenant";
  return KEYS_ONLY.has(need.operation) ? missingKey(identity, need.operation) : undefined;
}

function missingKey({ credential }: Identity, operation: Operation): string | undefined {
  if (credential.startsWith("key_")) return undefined;
  if (credential !== "local") return "a key";
  // The first key locks out all other programs of the machine, so no page makes it.
  return operation === "mint_token" ? undefined : "a key from the command line";
}

type Declared = (typeof PERMISSIONS)[Operation];

function permissionsOf({ operation, thing }: Need): NonNullable<Declared>[] {
  const declared = PERMISSIONS[operation];
  if (thing !== undefined && "tenant" in thing) {
    return [declared?.endsWith(":read") ? "tenant:read" : "tenant"];
  }
  const also = ALSO.get(operation);
  const replaces = REPLACING.has(operation) && thing !== undefined && thing.isNew !== true;
  return [
    ...(declared === null ? [] : [replaces ? ("namespaces:write" as const) : declared]),
    ...(also === undefined ? [] : [also]),
  ];
}

function isGranted(
  { grants, subject, operator }: Identity,
  permission: NonNullable<Declared>,
  thing: Thing | undefined,
): boolean {
  if (permission === "operator") return operator === true;
  if (permission === "any" || grants === undefined) return true;
  const whole = grants.tenant ?? [];
  if (permission === "tenant") return allows(whole, "write");
  const [noun, verb] = permission.split(":") as [Noun | "tenant", Verb];
  if (noun === "tenant" || allows(whole, verb)) return allows(whole, verb);
  const granted = grantsOf(grants, noun).filter(({ actions }) => allows(actions, verb));
  if (thing === undefined || "tenant" in thing || nounOf(thing) !== noun) return granted.length > 0;
  return granted.some((grant) => covers(grant, thing, subject));
}

interface AnyGrant {
  actions: readonly string[];
  id?: string | null | undefined;
  prefix?: string | readonly string[] | null | undefined;
  owned?: boolean | null | undefined;
}

function grantsOf(grants: Grants, noun: Noun): readonly AnyGrant[] {
  return grants[noun] ?? [];
}

/** `write` covers `append`, and never `read`. */
function allows(actions: readonly string[], verb: Verb): boolean {
  return actions.includes(verb) || (verb === "append" && actions.includes("write"));
}

function covers(grant: AnyGrant, thing: Granted, subject: string | undefined): boolean {
  if ("namespace" in thing) {
    const labels = Array.isArray(grant.prefix) ? (grant.prefix as readonly string[]) : [];
    return labels.every((label, at) => thing.namespace[at] === label);
  }
  const name =
    "thread" in thing ? thing.thread : "session" in thing ? thing.session : thing.snapshot;
  if (typeof grant.id === "string") return grant.id === name;
  if (typeof grant.prefix === "string") return name.startsWith(grant.prefix);
  if (grant.owned !== true || subject === undefined) return false;
  // Whatever a subject makes is its own.
  return thing.isNew === true || thing.owner === subject;
}

function nounOf(thing: Granted): Noun {
  if ("thread" in thing) return "threads";
  if ("session" in thing) return "sessions";
  return "snapshot" in thing ? "snapshots" : "namespaces";
}

function nameOf(thing: Granted): string {
  if ("thread" in thing) return thing.thread;
  if ("session" in thing) return thing.session;
  if ("snapshot" in thing) return thing.snapshot;
  return thing.namespace.length === 0 ? "all namespaces" : thing.namespace.join("/");
}

/** Whether the server answers a list of all things of a kind that may be read. Grants of single ones are no list. */
export function mayList({ grants, subject }: Identity, noun: Named): boolean {
  if (grants === undefined || allows(grants.tenant ?? [], "read")) return true;
  const read = grantsOf(grants, noun).filter(({ actions }) => allows(actions, "read"));
  return read.some(
    ({ prefix, owned }) => typeof prefix === "string" || (owned === true && subject !== undefined),
  );
}

/** Returns the prefix that a new name needs: empty for any name, undefined where the grants name single things only. */
export function nameStart(
  { grants, subject }: Identity,
  noun: Named,
  verb: Verb,
): string | undefined {
  if (grants === undefined || allows(grants.tenant ?? [], verb)) return "";
  const granted = grantsOf(grants, noun).filter(({ actions }) => allows(actions, verb));
  if (granted.some(({ owned }) => owned === true && subject !== undefined)) return "";
  const prefix = granted.find((grant) => typeof grant.prefix === "string")?.prefix;
  return typeof prefix === "string" ? prefix : undefined;
}
