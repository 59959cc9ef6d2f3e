/** What the chosen credential may see, by what the server says of it. */

import type { Identity } from "threadkeep";

export type Section = "threads" | "namespaces";

/** Whether a credential may read anything of a kind. Without grants it has the whole tenant. */
export function maySee({ grants }: Identity, section: Section): boolean {
  return grants === undefined || (grants[section] ?? []).length > 0;
}

export function hasWholeTenant({ grants }: Identity): boolean {
  return grants === undefined;
}

/** The threads that a token names one by one: no list of the server has them. */
export function grantedThreadIds({ grants }: Identity): string[] {
  return (grants?.threads ?? []).flatMap((grant) => ("id" in grant && grant.id ? [grant.id] : []));
}
