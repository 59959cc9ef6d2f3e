/** Pictures by their first bytes. What a file or a message says of itself does not count. */

const SIGNATURES: [type: string, matches: (bytes: Uint8Array) => boolean][] = [
  ["image/png", (bytes) => startsWith(bytes, [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])],
  ["image/jpeg", (bytes) => startsWith(bytes, [0xff, 0xd8, 0xff])],
  ["image/gif", (bytes) => startsWith(bytes, [0x47, 0x49, 0x46, 0x38])],
  [
    "image/webp",
    (bytes) =>
      startsWith(bytes, [0x52, 0x49, 0x46, 0x46]) &&
      startsWith(bytes.subarray(8), [0x57, 0x45, 0x42, 0x50]),
  ],
];

function startsWith(bytes: Uint8Array, signature: readonly number[]): boolean {
  return signature.every((byte, at) => bytes[at] === byte);
}

/** The type of a picture that is shown; undefined for all else. */
export function imageTypeOf(bytes: Uint8Array): string | undefined {
  return SIGNATURES.find(([, matches]) => matches(bytes))?.[0];
}

export function bytesOfBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** Text of bytes; undefined where they are none. */
export function textOfBytes(bytes: Uint8Array): string | undefined {
  if (bytes.subarray(0, 8_192).includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The first bytes as hexadecimal numbers, 16 a line. */
export function hexText(bytes: Uint8Array, max = 256): string {
  const lines: string[] = [];
  for (let at = 0; at < Math.min(bytes.length, max); at += 16) {
    const line = Array.from(bytes.subarray(at, at + 16), (byte) =>
      byte.toString(16).padStart(2, "0"),
    );
    lines.push(`${at.toString(16).padStart(6, "0")}  ${line.join(" ")}`);
  }
  if (bytes.length > max) lines.push("…");
  return lines.join("\n");
}
