/** Keeps the error of a credential that the server refuses while the page is open. */

import { useSyncExternalStore } from "react";
import { Listeners } from "./listeners.js";

const listeners = new Listeners();
let refused: Error | undefined;

export function noteRefusal(error: Error | undefined): void {
  refused = error;
  listeners.notify();
}

export function useRefusal(): Error | undefined {
  return useSyncExternalStore(listeners.subscribe, () => refused);
}
