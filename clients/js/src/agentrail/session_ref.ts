/** The two spellings of a session's reference. */

import { InvalidError } from "../errors.js";

export interface SessionPlace {
  tenantId: string;
  sessionId: string;
}

/** As Agentrail's core makes it. */
export function sessionRefOf({ tenantId, sessionId }: SessionPlace): string {
  return JSON.stringify([tenantId, sessionId]);
}

/** Reads both: the JSON array of core, else `tenant:session`, as sandboxes have it, divided at the first colon. */
export function placeOf(sessionRef: string): SessionPlace {
  const parts = arrayIn(sessionRef);
  if (parts) return { tenantId: parts[0], sessionId: parts[1] };
  const colon = sessionRef.indexOf(":");
  if (colon < 0) {
    throw new InvalidError('sessionRef is neither ["tenant","session"] nor tenant:session', {
      field: "sessionRef",
    });
  }
  return { tenantId: sessionRef.slice(0, colon), sessionId: sessionRef.slice(colon + 1) };
}

function arrayIn(sessionRef: string): [string, string] | undefined {
  let found: unknown;
  try {
    found = JSON.parse(sessionRef);
  } catch {
    return undefined;
  }
  const isPair =
    Array.isArray(found) && found.length === 2 && found.every((it) => typeof it === "string");
  return isPair ? (found as [string, string]) : undefined;
}
