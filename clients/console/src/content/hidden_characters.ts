/** Characters that a reader does not see, or that change the order of others: texts that look alike may differ by them. */

/** First and last of each range. Line feeds and tabs are seen. */
const RANGES: [first: number, last: number][] = [
  [0x0000, 0x0008],
  [0x000b, 0x001f],
  [0x007f, 0x009f],
  [0x00ad, 0x00ad],
  [0x034f, 0x034f],
  [0x061c, 0x061c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff9, 0xfffb],
  // Tags and variation selectors.
  [0xe0000, 0xe0fff],
];
const CLASS = RANGES.map((range) => range.map((point) => `\\u{${point.toString(16)}}`).join("-"));
/** With the flag `u`, a surrogate stands for itself only where it has no partner. */
const HIDDEN = new RegExp(`[${CLASS.join("")}\\p{Surrogate}]`, "gu");

const NAMES: Record<number, string> = {
  173: "soft hyphen",
  1564: "Arabic letter mark",
  8203: "zero width space",
  8204: "zero width non-joiner",
  8205: "zero width joiner",
  8206: "left-to-right mark",
  8207: "right-to-left mark",
  8234: "left-to-right embedding",
  8235: "right-to-left embedding",
  8236: "end of embedding",
  8237: "left-to-right override",
  8238: "right-to-left override",
  8288: "word joiner",
  8294: "left-to-right isolate",
  8295: "right-to-left isolate",
  8296: "first strong isolate",
  8297: "end of isolate",
  65279: "zero width no-break space",
};

/** A part of a text: as it is, or a mark for one character. */
export type TextPart = string | { code: string; name: string };

/** The parts of a text, with a mark for each hidden character. */
export function visibleParts(text: string): TextPart[] {
  const parts: TextPart[] = [];
  let done = 0;
  for (const found of text.matchAll(HIDDEN)) {
    if (found.index > done) parts.push(text.slice(done, found.index));
    parts.push(markOf(found[0]));
    done = found.index + found[0].length;
  }
  if (done < text.length) parts.push(text.slice(done));
  return parts;
}

function markOf(character: string): { code: string; name: string } {
  const point = character.codePointAt(0) ?? 0;
  const code = `U+${point.toString(16).toUpperCase().padStart(4, "0")}`;
  return { code, name: NAMES[point] ?? "hidden character" };
}

/** The text with `\u` in place of each hidden character, for literals of JavaScript and JSON. */
export function escapeHidden(text: string): string {
  return text.replace(HIDDEN, (found) =>
    Array.from({ length: found.length }, (_, at) => unit(found.charCodeAt(at))).join(""),
  );
}

/** The same for literals of Python, which knows no surrogate pairs. */
export function escapeHiddenForPython(text: string): string {
  return text.replace(HIDDEN, (found) => {
    const point = found.codePointAt(0) ?? 0;
    return point > 0xffff ? `\\U${point.toString(16).padStart(8, "0")}` : unit(point);
  });
}

function unit(code: number): string {
  return `\\u${code.toString(16).padStart(4, "0")}`;
}
