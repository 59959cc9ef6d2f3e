/** What a person likes in this browser: no ids, no contents, no credentials. */

import { useSyncExternalStore } from "react";

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

export interface Preferences {
  theme: Theme;
  /** Whether single keys are commands. */
  keys: boolean;
}

const STORED_AS = "threadkeep.preferences";
const DEFAULT: Preferences = { theme: "system", keys: true };
const listeners = new Set<() => void>();
let preferences: Preferences | undefined;

export function readPreferences(): Preferences {
  preferences ??= stored();
  return preferences;
}

export function usePreferences(): Preferences {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, readPreferences);
}

export function changePreferences(changes: Partial<Preferences>): void {
  preferences = { ...readPreferences(), ...changes };
  try {
    localStorage.setItem(STORED_AS, JSON.stringify(preferences));
  } catch {
    // A browser without storage forgets them.
  }
  applyTheme();
  for (const listener of listeners) listener();
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
