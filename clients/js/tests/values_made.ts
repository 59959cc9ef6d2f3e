/** Values that tests make: bytes, JSON texts, and noise that is the same in every run. */

export function bytes(values: number[]): Uint8Array {
  return Uint8Array.from(values);
}

export function json(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value));
}

export function joined(parts: Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

/** Bytes without any pattern, by a generator of numbers (mulberry32). */
export function noise(count: number, seed: number): Uint8Array {
  const made = new Uint8Array(count);
  let state = (seed * 0x9e3779b1 + 1) | 0;
  for (let at = 0; at < count; at += 1) {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    made[at] = mixed ^ (mixed >>> 14);
  }
  return made;
}

/** A list of messages that is long enough to travel as a difference. */
export function messages(count: number): string[] {
  return Array.from({ length: count }, (_, seed) => Buffer.from(noise(150, seed)).toString("hex"));
}
