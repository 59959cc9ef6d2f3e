/** Reads from the grants of the caller which sections of the console it may see. */

import type { Identity } from "threadkeep";

export type Section = "threads" | "namespaces" | "sessions" | "snapshots" | "tenant" | "access";

/** Whether the caller administers all tenants. It reads the contents of none. */
export function isOperator({ operator }: Identity): boolean {
  return operator === true;
}

/** Whether a credential may read anything of a kind. */
export function maySee(identity: Identity, section: Section): boolean {
  if (isOperator(identity)) return false;
  if (hasWholeTenant(identity)) return true;
  if (section === "tenant") return false;
  // A key of a subject lists no keys, and makes tokens for its subject.
  if (section === "access") return identity.credential.startsWith("key_");
  const granted: readonly { actions: readonly string[] }[] = identity.grants?.[section] ?? [];
  return granted.some(({ actions }) => actions.includes("read"));
}

/** Whether a credential may read everything of the tenant. Without grants it may also change it. */
export function hasWholeTenant({ grants, operator }: Identity): boolean {
  if (operator === true) return false;
  return grants === undefined || (grants.tenant ?? []).includes("read");
}

/** Grants for single things and for what begins with a prefix, as they are named. */
export function grantedSessionNames({ grants }: Identity): string[] {
  return (grants?.sessions ?? []).flatMap(({ id, prefix }) => id ?? prefix ?? []);
}

/** The threads that a token names one by one: no list of the server has them. */
export function grantedThreadIds({ grants }: Identity): string[] {
  return (grants?.threads ?? []).flatMap(({ id, actions }) =>
    id && actions.includes("read") ? [id] : [],
  );
}
