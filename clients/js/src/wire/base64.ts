/** Base64 as RFC 4648 has it, with what every runtime has, and without making a string of each byte. */

const CODES = new TextEncoder().encode(
  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
);
const PADDING = "=".charCodeAt(0);
/** By character code; 64 is no value. */
const VALUES = new Uint8Array(256).fill(64);
for (const [value, code] of CODES.entries()) VALUES[code] = value;

const code = (bits: number) => CODES[bits & 63] as number;

export function base64Of(bytes: Uint8Array): string {
  const made = new Uint8Array(Math.ceil(bytes.length / 3) * 4).fill(PADDING);
  let to = 0;
  for (let at = 0; at < bytes.length; at += 3) {
    const [first, second = 0, third = 0] = [bytes[at] as number, bytes[at + 1], bytes[at + 2]];
    const bits = (first << 16) | (second << 8) | third;
    made[to] = code(bits >> 18);
    made[to + 1] = code(bits >> 12);
    if (at + 1 < bytes.length) made[to + 2] = code(bits >> 6);
    if (at + 2 < bytes.length) made[to + 3] = code(bits);
    to += 4;
  }
  return new TextDecoder().decode(made);
}

/** The bytes of a text that an encoder makes; undefined for every other text. */
export function bytesOfBase64(text: string): Uint8Array | undefined {
  const codes = new TextEncoder().encode(text);
  if (codes.length % 4 !== 0) return undefined;
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  const end = codes.length - padding;
  const bytes = new Uint8Array((codes.length / 4) * 3 - padding);
  let bits = 0;
  let held = 0;
  let to = 0;
  for (let at = 0; at < end; at++) {
    const value = VALUES[codes[at] as number] as number;
    if (value === 64) return undefined;
    bits = ((bits << 6) | value) & 0xfff;
    held += 6;
    if (held < 8) continue;
    held -= 8;
    bytes[to] = bits >> held;
    to += 1;
  }
  // Bits beyond the bytes are zero, so that each byte string has one text.
  return (bits & ((1 << held) - 1)) === 0 ? bytes : undefined;
}
