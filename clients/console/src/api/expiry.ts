/** Whether the server has stopped taking the credential while the page was open. */

import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
let refused: Error | undefined;

export function noteRefusal(error: Error | undefined): void {
  refused = error;
  for (const listener of listeners) listener();
}

export function useRefusal(): Error | undefined {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => refused,
  );
}
