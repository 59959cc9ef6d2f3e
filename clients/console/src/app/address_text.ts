/** Any text as a part of an address, and back. */

const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Any text as one part of an address. Half a surrogate pair, which UTF-8 cannot hold, is `%u` and its number. */
export function encodeText(text: string): string {
  let [made, done] = ["", 0];
  for (const found of text.matchAll(LONE_SURROGATE)) {
    made += encodeURIComponent(text.slice(done, found.index));
    made += `%u${found[0].charCodeAt(0).toString(16)}`;
    done = found.index + 1;
  }
  return made + encodeURIComponent(text.slice(done));
}

/** The text of a part of an address. What is not encoded as it should be stays as it is. */
export function decodeText(part: string): string {
  return part
    .split(/(%u[0-9a-f]{4})/)
    .map((piece) => {
      if (/^%u[0-9a-f]{4}$/.test(piece)) {
        return String.fromCharCode(Number.parseInt(piece.slice(2), 16));
      }
      try {
        return decodeURIComponent(piece);
      } catch {
        return piece;
      }
    })
    .join("");
}
