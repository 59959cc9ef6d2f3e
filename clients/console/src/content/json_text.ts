/** Lays JSON text out for a person and back. Only the space between its parts changes: `1.0` stays `1.0`, and every digit stays. */

/** Strings, marks, and all else that stands between them: numbers and words. */
const PARTS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/gu;
const INDENT = "  ";

/** Each entry on a line of its own. The text has to be JSON. */
export function indentJson(text: string): string {
  let made = "";
  let depth = 0;
  let previous = "";
  for (const [part] of text.matchAll(PARTS)) {
    const isEnd = part === "}" || part === "]";
    if (isEnd) depth -= 1;
    const isEmpty = isEnd && (previous === "{" || previous === "[");
    const isNewLine = (isEnd && !isEmpty) || (!isEnd && isOpening(previous)) || previous === ",";
    if (isNewLine) made += `\n${INDENT.repeat(depth)}`;
    made += part === ":" ? ": " : part;
    if (isOpening(part)) depth += 1;
    previous = part;
  }
  return made;
}

/** Without any space between its parts. The text has to be JSON. */
export function compactJson(text: string): string {
  return Array.from(text.matchAll(PARTS), ([part]) => part).join("");
}

/** Why a text is no object of JSON; undefined for one. */
export function problemOfObject(text: string): string | undefined {
  try {
    const found: unknown = JSON.parse(text);
    const isObject = typeof found === "object" && found !== null && !Array.isArray(found);
    return isObject ? undefined : "It has to be an object of JSON: { … }";
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function isOpening(part: string): boolean {
  return part === "{" || part === "[";
}
