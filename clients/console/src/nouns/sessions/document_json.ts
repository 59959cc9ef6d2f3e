/** Tells documents that hold JSON from other texts. */

/** The object or list that a text is the JSON of; undefined for any other text. */
export function jsonOfDocument(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === "object" && found !== null ? found : undefined;
  } catch {
    return undefined;
  }
}
