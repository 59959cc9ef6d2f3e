/** Base64 as RFC 4648 has it, with what every runtime has. */

const PART = 0x8000;
const CHARACTERS = /^[A-Za-z0-9+/]*={0,2}$/;
/** The last character before the padding has no bits beyond the bytes: one text for each byte string. */
const END = /(^|[A-Za-z0-9+/]{4}|[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)$/;

export function base64Of(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += PART) {
    text += String.fromCharCode(...bytes.subarray(at, at + PART));
  }
  return btoa(text);
}

/** The bytes of a text that an encoder makes; undefined for every other text. */
export function bytesOfBase64(text: string): Uint8Array | undefined {
  if (text.length % 4 !== 0 || !CHARACTERS.test(text) || !END.test(text.slice(-4))) {
    return undefined;
  }
  const decoded = atob(text);
  const bytes = new Uint8Array(decoded.length);
  for (let at = 0; at < decoded.length; at++) bytes[at] = decoded.charCodeAt(at);
  return bytes;
}
