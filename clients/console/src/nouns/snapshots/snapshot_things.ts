/** Says which rights a restore of a snapshot needs: to write each thing that is in it. */

import type { Snapshot } from "threadkeep";
import type { Need } from "../../api/capabilities.js";

export function contentNeeds({ threads, namespaces, sessions, owner }: Snapshot): Need[] {
  return [
    // A thread that is made again is the caller's, and one that is there has the owner that it had.
    ...threads.map(
      ({ threadId }): Need => ({
        operation: "delete_thread",
        thing: { thread: threadId, owner, isNew: true },
      }),
    ),
    ...namespaces.map(
      ({ namespace }): Need => ({ operation: "delete_item", thing: { namespace } }),
    ),
    ...sessions.map(
      ({ kind, key }): Need => ({
        operation: "delete_session",
        thing: { session: grantName(kind, key), isNew: true },
      }),
    ),
  ];
}

/** The name of a session in grants: its kind and the parts of its key, each with `%`, `/` and NUL escaped. */
export function grantName(kind: string, key: readonly string[]): string {
  const parts = key.map((part) =>
    part.replaceAll(/[%/\0]/g, (found) => {
      return `%${found.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
    }),
  );
  return `${kind}:${parts.join("/")}`;
}
