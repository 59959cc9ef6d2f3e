/** Any text as a part of an address, and back; the parameters of an address. */

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

/** Labels as the parts of a path, each with its slash. */
export function labelsText(labels: readonly string[]): string {
  return labels.map((label) => `/${encodeText(label)}`).join("");
}

/** The parameters of an address, with their `?`. One that is undefined is left out. */
export function queryText(values: Record<string, string | undefined>): string {
  const given = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeText(value)}`],
  );
  return given.length === 0 ? "" : `?${given.join("&")}`;
}

export function queryOf(query: string): Map<string, string> {
  const pairs = query.split("&").filter((pair) => pair !== "");
  return new Map(
    pairs.map((pair) => {
      const [name, value = ""] = splitOnce(pair, "=");
      return [name, decodeText(value)];
    }),
  );
}

export function splitOnce(text: string, mark: string): [string, string?] {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + mark.length)];
}
