/** Ids that are made of names (RFC 9562, version 5). */

export async function uuid5(name: string, namespace: string): Promise<string> {
  const text = new TextEncoder().encode(name);
  const input = new Uint8Array(16 + text.length);
  input.set(bytesOf(namespace));
  input.set(text, 16);
  const digest = (await sha1(input)).subarray(0, 16);
  digest[6] = ((digest[6] ?? 0) & 0x0f) | 0x50;
  digest[8] = ((digest[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

async function sha1(input: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  if (crypto.subtle) return new Uint8Array(await crypto.subtle.digest("SHA-1", input));
  return (await import("@noble/hashes/legacy.js")).sha1(input);
}

function bytesOf(uuid: string): number[] {
  return (uuid.replaceAll("-", "").match(/../g) ?? []).map((hex) => Number.parseInt(hex, 16));
}
