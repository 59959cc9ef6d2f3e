/** Reads the text format of Prometheus, in which the server tells its counts. */

export interface Sample {
  name: string;
  labels: ReadonlyMap<string, string>;
  value: number;
}

const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"/g;
const ESCAPES: ReadonlyMap<string, string> = new Map([["n", "\n"]]);

/** Returns the samples of a text in its order. Comments, and lines of another form, are left out. */
export function samplesIn(text: string): Sample[] {
  return text.split("\n").flatMap((line) => {
    const [, name, labels = "", value = ""] = LINE.exec(line.trim()) ?? [];
    const number = numberOf(value);
    if (name === undefined || number === undefined) return [];
    return [{ name, labels: labelsOf(labels), value: number }];
  });
}

function labelsOf(text: string): ReadonlyMap<string, string> {
  const pairs = Array.from(text.matchAll(LABEL), ([, name = "", value = ""]): [string, string] => [
    name,
    value.replace(/\\(.)/g, (_, letter: string) => ESCAPES.get(letter) ?? letter),
  ]);
  return new Map(pairs);
}

function numberOf(text: string): number | undefined {
  if (/^[+-]?Inf$/.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  const number = Number(text);
  return Number.isNaN(number) || text === "" ? undefined : number;
}
