/** The rows of a comparison, and how they are printed. Only ratios are worth keeping. */

/** One line: `ratio` is threadkeep by reference. */
export interface Row {
  measure: string;
  threadkeep: number | string;
  reference: number | string;
  ratio: number;
  goal: string;
  met: boolean | undefined;
}

/** A row of two figures with so many digits behind the point. `atMost` is the goal of the ratio. */
export function row(
  measure: string,
  ours: number,
  theirs: number,
  { atMost, digits = 1 }: { atMost?: number; digits?: number } = {},
): Row {
  const ratio = ours / theirs;
  const goal = atMost === undefined ? "" : `≤ ${atMost.toPrecision(2)}`;
  const met = atMost === undefined ? undefined : ratio <= atMost;
  const shown = (value: number) => Number(value.toFixed(digits));
  return { measure, threadkeep: shown(ours), reference: shown(theirs), ratio, goal, met };
}

/** Prints the rows as a table. */
export function print(title: string, rows: readonly Row[]): void {
  console.log(`${title}\n`);
  console.log(
    "| measure | threadkeep | reference | ratio | goal | met |\n|---|---|---|---|---|---|",
  );
  for (const { measure, threadkeep, reference, ratio, goal, met } of rows) {
    const said = met === undefined ? "" : met ? "yes" : "**no**";
    console.log(
      `| ${measure} | ${threadkeep.toLocaleString()} | ${reference.toLocaleString()} | ${ratio.toPrecision(3)} | ${goal} | ${said} |`,
    );
  }
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
