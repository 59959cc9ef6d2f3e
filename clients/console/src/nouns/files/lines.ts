/** Finds a line of a text, and those around it. */

const AROUND = 5;

export interface NumberedLine {
  /** From 1. */
  number: number;
  text: string;
}

/** Returns the line with up to five before and after it; nothing where the text has no such line. */
export function linesAround(text: string, line: number): NumberedLine[] {
  // As the server counts them.
  const lines = text.split("\n");
  if (!Number.isInteger(line) || line < 1 || line > lines.length) return [];
  const first = Math.max(1, line - AROUND);
  return lines
    .slice(first - 1, line + AROUND)
    .map((one, at) => ({ number: first + at, text: one.replace(/\r$/, "") }));
}
