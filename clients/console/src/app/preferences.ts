/** Keeps the preferences of a person in the browser: theme and keys, but no ids, contents or credentials. */

import { useSyncExternalStore } from "react";
import { Listeners } from "../api/listeners.js";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

export interface Preferences {
  theme: Theme;
  /** Whether single keys are commands. */
  keys: boolean;
}

const STORED_AS = "threadkeep.preferences";
const DEFAULT: Preferences = { theme: "system", keys: true };
const listeners = new Listeners();
let preferences: Preferences | undefined;

export function readPreferences(): Preferences {
  preferences ??= stored();
  return preferences;
}

export function usePreferences(): Preferences {
  return useSyncExternalStore(listeners.subscribe, readPreferences);
}

export function changePreferences(changes: Partial<Preferences>): void {
  preferences = { ...readPreferences(), ...changes };
  try {
    localStorage.setItem(STORED_AS, JSON.stringify(preferences));
  } catch {
    // A browser without storage forgets them.
  }
  applyTheme();
  listeners.notify();
}

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = readPreferences().theme;
}

function stored(): Preferences {
  try {
    const found = JSON.parse(localStorage.getItem(STORED_AS) ?? "{}") as Partial<Preferences>;
    const theme = THEMES.find((one) => one === found.theme) ?? DEFAULT.theme;
    return { theme, keys: found.keys !== false };
  } catch {
    return DEFAULT;
  }
}
