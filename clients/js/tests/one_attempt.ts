/** Calls that are not repeated, whatever the speed of the machine. */

import { afterEach, beforeEach, vi } from "vitest";

/** Less than the first pause between two attempts. */
export const ONE_ATTEMPT = { timeoutMs: 40 };

/** For all tests of a file: the clock that times calls stands still, so none of them runs out of time. */
export function stopTheClock(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["performance"] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });
}
