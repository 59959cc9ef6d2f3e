/** Keys as commands: one list, one listener. Single keys do not count while a field has the focus. */

import { useEffect, useRef } from "react";
import { readPreferences } from "./preferences.js";

/** All keys of the console, as the help shows them. */
export const SHORTCUTS = [
  { keys: "?", does: "Show the keys" },
  { keys: "Ctrl K", does: "Go to an id, a section or an action; ⌘K on a Mac" },
  { keys: "/", does: "Go to the filter of the page" },
  { keys: "g h", does: "Go to Home" },
  { keys: "g t", does: "Go to Threads; with the key of an operator to Tenants" },
  { keys: "g i", does: "Go to the Inbox" },
  { keys: "g f", does: "Go to Files" },
  { keys: "g s", does: "Go to the Store" },
  { keys: "g e", does: "Go to Sessions" },
  { keys: "g n", does: "Go to Snapshots" },
  { keys: "g a", does: "Go to Access; with the key of an operator to Operators" },
  { keys: "g l", does: "Go to the audit log" },
  { keys: "g u", does: "Go to Usage" },
  { keys: "g r", does: "Go to Retention" },
  { keys: "g o", does: "Go to Health" },
  { keys: "j", does: "Next row" },
  { keys: "k", does: "Row before" },
  { keys: "Enter", does: "Open the row" },
  { keys: "x", does: "Mark the row: a thread, or the step of a timeline" },
  { keys: ".", does: "Show the page as code" },
] as const;

export type Keys = (typeof SHORTCUTS)[number]["keys"];

const handlers = new Map<string, (() => void)[]>();
/** A key may begin a command of two; after a moment it does not any more. */
const SECOND_KEY_MS = 1_500;
let first: { key: string; at: number } | undefined;

/** The newest handler of a key counts, so a dialog takes keys from the page below. */
export function useShortcut(keys: Keys, handler: () => void): void {
  const latest = useRef(handler);
  useEffect(() => {
    latest.current = handler;
  });
  useEffect(() => {
    const call = () => latest.current();
    handlers.set(keys, [...(handlers.get(keys) ?? []), call]);
    return () => {
      handlers.set(
        keys,
        (handlers.get(keys) ?? []).filter((one) => one !== call),
      );
    };
  }, [keys]);
}

export function listenToKeys(): void {
  window.addEventListener("keydown", (event) => {
    if (isPaletteKey(event)) {
      event.preventDefault();
      handlers.get("Ctrl K")?.at(-1)?.();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (!readPreferences().keys || isBusy(event.target, event.key)) return;
    const now = performance.now();
    const isSecond = first !== undefined && now - first.at < SECOND_KEY_MS;
    const keys = isSecond ? `${first?.key} ${event.key}` : event.key;
    first = !isSecond && event.key === "g" ? { key: "g", at: now } : undefined;
    const handler = handlers.get(keys)?.at(-1);
    if (!handler) return;
    event.preventDefault();
    handler();
  });
}

/** It counts in fields, too, and where single keys are off. Over an open dialog it does not. */
function isPaletteKey({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): boolean {
  const isOther = altKey || shiftKey || ctrlKey === metaKey;
  return !isOther && key.toLowerCase() === "k" && document.querySelector("dialog[open]") === null;
}

/** Whether the element with the focus takes the key for itself. */
function isBusy(target: EventTarget | null, key: string): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.closest("dialog[open]")) return true;
  // A mark of a row takes no letters.
  if (target instanceof HTMLInputElement && target.type === "checkbox") return key === "Enter";
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) return true;
  return key === "Enter" && target.closest("a, button, summary") !== null;
}
