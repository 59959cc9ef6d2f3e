/** Calls under a clock that tests move: how long they took, and how they came out. */

import { vi } from "vitest";

/** Runs a call through all its waits; how long they took together, and how it came out. */
export async function outcome(
  work: () => Promise<unknown>,
): Promise<{ ms: number; error: unknown }> {
  const begun = Date.now();
  const settled = work().then(
    () => undefined,
    (error: unknown) => error,
  );
  let error: unknown = vi;
  void settled.then((it) => {
    error = it;
  });
  while (error === vi) await vi.advanceTimersByTimeAsync(100);
  return { ms: Date.now() - begun, error };
}
