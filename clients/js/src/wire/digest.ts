/**
 * SHA-256, the name of a value between client and server. Every runtime has it in WebCrypto, where each call takes a turn
 * of the event loop; where the runtime lends its native hash (Node, Deno, Bun), that is used, because it answers at once. Pages
 * of plain http have neither, and load one in JavaScript.
 */

/** The 32 bytes of a SHA-256 as text, one character each, so that it can be the key of a map. */
export type Name = string;

interface NativeHash {
  update(data: Uint8Array): NativeHash;
  digest(encoding: "binary"): string;
}
interface Builtins {
  getBuiltinModule?: (name: string) => { createHash: (name: string) => NativeHash } | undefined;
}

/** The name of a value; at once where the runtime can, else as a promise. */
export const nameOf: (data: Uint8Array) => Name | Promise<Name> = nativeNames() ?? nameByWebCrypto;

/** The same on every runtime. */
export async function nameByWebCrypto(data: Uint8Array): Promise<Name> {
  if (!crypto.subtle) {
    const { sha256 } = await import("@noble/hashes/sha2.js");
    return nameOfBytes(sha256(data));
  }
  const digest = await crypto.subtle.digest("SHA-256", data as Uint8Array<ArrayBuffer>);
  return nameOfBytes(new Uint8Array(digest));
}

export function nameOfBytes(bytes: Uint8Array): Name {
  return String.fromCharCode(...bytes);
}

/** The bytes of a name, or its first `count`. */
export function bytesOfName(name: Name, count = name.length): Uint8Array {
  const bytes = new Uint8Array(count);
  for (let at = 0; at < count; at += 1) bytes[at] = name.charCodeAt(at);
  return bytes;
}

/** A name as the server writes hashes: hexadecimal, in small letters. */
export function hexOfName(name: Name): string {
  return Array.from(name, (it) => it.charCodeAt(0).toString(16).padStart(2, "0")).join("");
}

function nativeNames(): ((data: Uint8Array) => Name) | undefined {
  const { process } = globalThis as { process?: Builtins };
  try {
    const native = process?.getBuiltinModule?.("node:crypto");
    if (!native) return undefined;
    return (data) => native.createHash("sha256").update(data).digest("binary");
  } catch {
    return undefined;
  }
}
