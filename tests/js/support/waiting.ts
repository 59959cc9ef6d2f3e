/** Waits for something that must happen; gives up late, and says what it was. */

import { PATIENCE_MS } from "./settings.js";

export async function waitUntil<T>(
  check: () => T | undefined | false | "" | Promise<T | undefined | false | "">,
  what: string,
): Promise<T> {
  const until = Date.now() + PATIENCE_MS;
  for (;;) {
    const found = await check();
    if (found) return found;
    if (Date.now() > until) throw new Error(`waited in vain for ${what}`);
    await sleep(10);
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
