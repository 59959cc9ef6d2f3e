/** The acts of the audit log: their names, what a person calls them, and the page of what they were done to. */

import type { Route } from "../../app/route.js";

const TITLES = {
  key_created: "Key made",
  key_revoked: "Key revoked",
  token_minted: "Token made",
  token_revoked: "Token revoked",
  secrets_rotated: "Signing secrets replaced",
  policy_put: "Retention policy set",
  policy_deleted: "Retention policy deleted",
  namespace_setting_put: "Namespace setting set",
  namespace_setting_deleted: "Namespace setting deleted",
  quota_set: "Quota set",
  role_created: "SQL role made",
  role_dropped: "SQL role dropped",
  subject_erased: "Subject erased",
  snapshot_restored: "Snapshot restored",
  snapshot_deleted: "Snapshot deleted",
  thread_rewound: "Thread rewound",
  lease_broken: "Lease broken",
  exported: "Tenant exported",
  imported: "Tenant imported",
  refused: "Requests refused",
} as const;

export type AuditAct = keyof typeof TITLES;

export const ACTS = Object.keys(TITLES) as AuditAct[];
const KNOWN: ReadonlyMap<string, string> = new Map(Object.entries(TITLES));

/** A later server may have other acts. */
export function titleOfAct(act: string): string {
  return KNOWN.get(act) ?? act;
}

/** Returns the page that shows the object of an act; undefined where there is no such page, or the object is gone. */
export function routeOfObject(act: string, object: string): Route | undefined {
  switch (act) {
    case "key_created":
    case "key_revoked":
      return { page: "access" };
    case "token_minted":
    case "token_revoked":
      return { page: "access", show: "tokens" };
    case "policy_put":
    case "policy_deleted":
    case "thread_rewound":
    case "lease_broken":
      return { page: "thread", threadId: object, tab: "conversation" };
    case "snapshot_restored":
      return { page: "snapshot", snapshotId: object };
    case "namespace_setting_put":
    case "namespace_setting_deleted":
      return namespaceRoute(object);
    default:
      return undefined;
  }
}

/** The labels of a namespace are the JSON text of a list. */
function namespaceRoute(object: string): Route | undefined {
  try {
    const found: unknown = JSON.parse(object);
    const isLabels = Array.isArray(found) && found.every((label) => typeof label === "string");
    return isLabels ? { page: "store", namespace: found } : undefined;
  } catch {
    return undefined;
  }
}
