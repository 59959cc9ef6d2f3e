/** The difference of two texts, line by line. */

export type LineStep = { kind: "same" | "removed" | "added"; lines: string[] };

/** More pairs of lines are not compared: the middle of the texts counts as replaced then. */
const PAIRS_MAX = 4_000_000;

/** What turns `before` into `after`. The lines of `same` and `removed` are `before`, those of `same` and `added` are `after`. */
export function lineDiff(before: string, after: string): LineStep[] {
  const [old, fresh] = [before.split("\n"), after.split("\n")];
  const shorter = Math.min(old.length, fresh.length);
  let begin = 0;
  while (begin < shorter && old[begin] === fresh[begin]) begin += 1;
  let end = 0;
  while (end < shorter - begin && old.at(-1 - end) === fresh.at(-1 - end)) end += 1;
  const steps: LineStep[] = [];
  add(steps, "same", old.slice(0, begin));
  const [oldMiddle, freshMiddle] = [
    old.slice(begin, old.length - end),
    fresh.slice(begin, fresh.length - end),
  ];
  if (oldMiddle.length * freshMiddle.length > PAIRS_MAX) {
    add(steps, "removed", oldMiddle);
    add(steps, "added", freshMiddle);
  } else {
    compare(steps, oldMiddle, freshMiddle);
  }
  add(steps, "same", old.slice(old.length - end));
  return steps;
}

/** By the longest common row of lines. */
function compare(steps: LineStep[], old: readonly string[], fresh: readonly string[]): void {
  const width = fresh.length + 1;
  const common = new Uint32Array((old.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = old.length - 1; i >= 0; i -= 1) {
    for (let j = fresh.length - 1; j >= 0; j -= 1) {
      common[i * width + j] =
        old[i] === fresh[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  let [i, j] = [0, 0];
  while (i < old.length || j < fresh.length) {
    const [oldLine, freshLine] = [old[i], fresh[j]];
    if (oldLine !== undefined && oldLine === freshLine) {
      add(steps, "same", [oldLine]);
      i += 1;
      j += 1;
    } else if (oldLine !== undefined && (freshLine === undefined || at(i + 1, j) >= at(i, j + 1))) {
      add(steps, "removed", [oldLine]);
      i += 1;
    } else if (freshLine !== undefined) {
      add(steps, "added", [freshLine]);
      j += 1;
    }
  }
}

function add(steps: LineStep[], kind: LineStep["kind"], lines: string[]): void {
  if (lines.length === 0) return;
  const last = steps.at(-1);
  if (last?.kind === kind) last.lines.push(...lines);
  else steps.push({ kind, lines: [...lines] });
}
