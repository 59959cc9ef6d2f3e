/**
 * Texts at field paths: `title`, `parts[*].text`, `tags[-1]`, `authors.*`, `{title,summary}`, `$` for all of a value. They are those
 * of InMemoryStore. What LangGraph.js exports as `getTextAtPath` is another function, which knows neither `$` nor objects in lists.
 */

const TOKEN = /\[[^\]]*\]?|\{[^}]*\}?|[^.[{]+/g;
const INDEX = /^-?\d+$/;

/** No text where there is nothing. Of numbers, booleans, lists and objects their JSON text, indented by two. */
export function textsAt(value: unknown, path: string): string[] {
  const tokens = path.match(TOKEN) ?? [];
  const whole = tokens[0] === "$" ? textOf(value) : [];
  return [...whole, ...walk(value, tokens)];
}

function walk(value: unknown, tokens: readonly string[]): string[] {
  const [token, ...rest] = tokens;
  if (token === undefined) return textOf(value);
  if (typeof value !== "object" || value === null) return [];
  // What comes behind a choice of fields has no meaning, as in the reference.
  if (isWithin(token, "{", "}")) {
    const fields = token.slice(1, -1).split(",");
    const paths = fields.map((field) => field.trim().match(TOKEN) ?? []);
    return paths.flatMap((path) => (path.length === 0 ? [] : walk(value, path)));
  }
  return entriesAt(value, token).flatMap((entry) => walk(entry, rest));
}

function entriesAt(value: object, token: string): unknown[] {
  if (token === "*") return Object.values(value);
  if (isWithin(token, "[", "]")) {
    if (!Array.isArray(value)) return [];
    const index = token.slice(1, -1);
    if (index === "*") return value;
    if (!INDEX.test(index)) return [];
    const at = Number(index) < 0 ? Number(index) + value.length : Number(index);
    return at in value ? [value[at]] : [];
  }
  return Object.hasOwn(value, token) ? [Reflect.get(value, token)] : [];
}

function textOf(value: unknown): string[] {
  if (value === null || value === undefined) return [];
  return [typeof value === "string" ? value : JSON.stringify(value, null, 2)];
}

function isWithin(token: string, first: string, last: string): boolean {
  return token.startsWith(first) && token.endsWith(last);
}
