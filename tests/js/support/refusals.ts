/** Calls with one thing wrong: each is refused with a typed error that names it. */

import { InvalidError } from "threadkeep";
import { expect } from "vitest";

export async function expectRefusals(calls: [() => Promise<unknown>, string][]): Promise<void> {
  for (const [call, field] of calls) {
    const error = await call().then(
      () => expect.fail(`${field} was taken`),
      (cause: unknown) => cause,
    );
    expect(error, field).toBeInstanceOf(InvalidError);
    expect((error as InvalidError).field).toBe(field);
  }
}
