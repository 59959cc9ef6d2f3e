/** Reads the server's answers about callers, keys, tenants and rules as records of the native client. Times are dates, sizes are bytes. */

import {
  asIs,
  flag,
  json,
  list,
  nested,
  number,
  optionalAsIs,
  optionalFlag,
  optionalNumber,
  optionalText,
  optionalTime,
  recordOf,
  text,
  time,
} from "../wire/records.js";
import type { Schemas } from "../wire/schemas.js";

export type Grants = Schemas["Grants"];
/** Lists the actions of a credential for each kind of thing: `capabilities.threads.includes("read")`. */
export type Capabilities = Schemas["Capabilities"];

/** The caller as the server identifies it. Without `grants` it may use the whole tenant. */
export type Identity = ReturnType<typeof identity>;
export const identity = recordOf<Schemas["Caller"]>()("a caller", {
  tenant: text,
  credential: text,
  operator: optionalFlag,
  subject: optionalText,
  label: optionalText,
  label_with_colons: optionalText,
  expires_at: optionalTime,
  grants: optionalAsIs<Grants>(),
  // Servers before 0.2 do not tell.
  capabilities: optionalAsIs<Capabilities>(),
});

/** Describes the server. A caller without a key or token gets only `name`, `version` and `keyless`. */
export type ServerInfo = ReturnType<typeof serverInfo>;
export const serverInfo = recordOf<Schemas["ServerInfo"]>()("a server", {
  name: text,
  version: text,
  keyless: flag,
  engine: optionalText,
  started_at: optionalTime,
  features: optionalAsIs<Schemas["ServerFeatures"]>(),
});

/** A new token. `token` is the secret to pass on as `apiKey`. */
export type Token = ReturnType<typeof mintedToken>;
const mintedToken = recordOf<Schemas["MintedToken"]>()("a token", {
  token: text,
  token_id: text,
  expires_at: time,
  grants: asIs<Grants>(),
  subject: optionalText,
});

/** Its secret does not show where an object is printed or turned into JSON as a whole. */
export function token(found: unknown): Token {
  const made = mintedToken(found);
  return Object.defineProperty(made, "token", { enumerable: false });
}

export const revokedToken = recordOf<Schemas["RevokedToken"]>()("a revoked token", {
  token_id: text,
});

/** A minted token that is still valid. `minter`: the key that made it, `cli` or `local`. */
export type LiveToken = ReturnType<typeof liveToken>;
const liveToken = recordOf<Schemas["LiveToken"]>()("a token", {
  token_id: text,
  minter: text,
  minted_at: time,
  expires_at: time,
  read_only: optionalFlag,
});

/** A page may be short, or empty, where the next one has more. */
export type TokenPage = ReturnType<typeof tokenPage>;
export const tokenPage = recordOf<Schemas["Tokens"]>()("a page of tokens", {
  tokens: list(liveToken),
  next_cursor: optionalText,
});

const keyFields = {
  key_id: text,
  name: optionalText,
  prefix: optionalText,
  subject: optionalText,
  read_only: flag,
  created_at: time,
  revoked_at: optionalTime,
  expires_at: optionalTime,
  last_used_on: optionalText,
};

/**
 * A key of the tenant. `prefix` is how its text begins; the text itself is kept nowhere. `lastUsedOn`
 * is a day in UTC.
 */
export type Key = ReturnType<typeof key>;
const key = recordOf<Schemas["Key"]>()("a key", keyFields);

export type KeyPage = ReturnType<typeof keyPage>;
export const keyPage = recordOf<Schemas["Keys"]>()("a page of keys", {
  keys: list(key),
  next_cursor: optionalText,
});

/** A new key. `key` is the secret to pass on as `apiKey`. */
export type CreatedKey = ReturnType<typeof madeKey>;
const madeKey = recordOf<Schemas["CreatedKey"]>()("a new key", { key: text, ...keyFields });

/** Its secret does not show where an object is printed or turned into JSON as a whole. */
export function createdKey(found: unknown): CreatedKey {
  return Object.defineProperty(madeKey(found), "key", { enumerable: false });
}

export const revokedKey = recordOf<Schemas["RevokedKey"]>()("a revoked key", { key_id: text });

/** The limits of a tenant. An absent limit is unlimited. Rates apply per server. */
export type Quota = ReturnType<typeof quota>;
const quota = recordOf<Schemas["Quota"]>()("a quota", {
  bytes_max: optionalNumber,
  threads_max: optionalNumber,
  items_max: optionalNumber,
  requests_per_second: optionalNumber,
  requests_per_second_per_token: optionalNumber,
});

/** The usage of a tenant, measured at `measuredAt`. */
export type Usage = ReturnType<typeof usage>;
export const usage = recordOf<Schemas["Usage"]>()("the usage", {
  bytes: number,
  threads: number,
  items: number,
  measured_at: time,
  quota: nested(quota),
});

const tenant = recordOf<Schemas["Tenant"]>()("a tenant", {
  tenant: text,
  bytes: number,
  threads: number,
  items: number,
  last_write: optionalTime,
});

/** A tenant with what it has stored. */
export type Tenant = ReturnType<typeof tenant>;

export type TenantPage = ReturnType<typeof tenantPage>;
export const tenantPage = recordOf<Schemas["Tenants"]>()("a page of tenants", {
  tenants: list(tenant),
  next_cursor: optionalText,
});

export const rotatedSecrets = recordOf<Schemas["RotatedSecrets"]>()("replaced secrets", {
  removed: number,
});

/** An administrative act, or `act: "refused"`: `count` requests of a minute turned away. */
export type AuditEvent = ReturnType<typeof auditEvent>;
const auditEvent = recordOf<Schemas["AuditEvent"]>()("an event", {
  event_id: text,
  at: time,
  act: text,
  count: number,
  details: json,
  actor: optionalText,
  object: optionalText,
});

export type AuditPage = ReturnType<typeof auditPage>;
export const auditPage = recordOf<Schemas["AuditEvents"]>()("a page of events", {
  events: list(auditEvent),
  next_cursor: optionalText,
});

/** A rule that deletes old checkpoints. Without `threadId` it applies to all threads that have no policy of their own. */
export type RetentionPolicy = ReturnType<typeof retentionPolicy>;
export const retentionPolicy = recordOf<Schemas["RetentionPolicy"]>()("a policy", {
  keep_interrupted: flag,
  dry_run: flag,
  created_at: time,
  updated_at: time,
  due_at: time,
  thread_id: optionalText,
  expire_after_seconds: optionalNumber,
  keep_last: optionalNumber,
  older_than_seconds: optionalNumber,
});

export type RetentionPolicyPage = ReturnType<typeof retentionPolicyPage>;
export const retentionPolicyPage = recordOf<Schemas["RetentionPolicies"]>()("a page of policies", {
  policies: list(retentionPolicy),
  next_cursor: optionalText,
});

const removed = recordOf<Schemas["Removed"]>()("what was removed", {
  checkpoints: number,
  writes: number,
  values: number,
  size_bytes: number,
  stored_bytes: number,
});

/** A finished round of a policy. `threadsSkipped`: their lease was held. */
export type RetentionReport = ReturnType<typeof retentionReport>;
const retentionReport = recordOf<Schemas["RetentionReport"]>()("a report", {
  report_id: text,
  started_at: time,
  finished_at: time,
  dry_run: flag,
  threads_examined: number,
  threads_expired: number,
  threads_pruned: number,
  threads_skipped: number,
  errors: number,
  removed: nested(removed),
  thread_id: optionalText,
  last_error: optionalText,
});

export type RetentionReportPage = ReturnType<typeof retentionReportPage>;
export const retentionReportPage = recordOf<Schemas["RetentionReports"]>()("a page of reports", {
  reports: list(retentionReport),
  next_cursor: optionalText,
});

export const retentionDue = recordOf<Schemas["RetentionDue"]>()("how many policies are due", {
  policies: number,
});

/**
 * A subject and what it has. Counts of threads, sessions, snapshots and items stop at 10,000 each: `partial` says that one has, and
 * `sizeBytes` and `updatedAt` are of what was counted. `keys` are those that are not revoked.
 */
export type Subject = ReturnType<typeof subject>;
const subject = recordOf<Schemas["Subject"]>()("a subject", {
  subject: text,
  keys: number,
  threads: number,
  sessions: number,
  snapshots: number,
  items: number,
  size_bytes: number,
  updated_at: optionalTime,
  partial: flag,
});

export type SubjectPage = ReturnType<typeof subjectPage>;
export const subjectPage = recordOf<Schemas["Subjects"]>()("a page of subjects", {
  subjects: list(subject),
  next_cursor: optionalText,
});

/** Counts the rows that an erasure removed. `packs` are objects that the server deletes from the object store in the next minutes. */
export type ErasureReceipt = ReturnType<typeof erasureReceipt>;
export const erasureReceipt = recordOf<Schemas["ErasureReceipt"]>()("a receipt", {
  keys: number,
  // Servers of earlier releases do not send those that are optional.
  snapshots: optionalNumber,
  threads: number,
  sessions: optionalNumber,
  items: number,
  contents: optionalNumber,
  checkpoints: number,
  writes: number,
  values: number,
  delta_bases: number,
  entries: optionalNumber,
  chunks: number,
  packs: number,
  size_bytes: number,
  retention_policies: number,
  retention_reports: number,
  tombstones: number,
  answers: number,
});
