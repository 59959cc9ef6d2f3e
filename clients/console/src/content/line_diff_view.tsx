/** The difference of two texts for a person: the lines that differ, with some of those around them. */

import { useMemo } from "react";
import { Marked } from "../parts/marked.js";
import { counted, cutText } from "./json_tree.js";
import { type LineStep, lineDiff } from "./line_diff.js";

/** Unchanged lines that are shown beside changed ones. */
const AROUND = 2;
const LINES_SHOWN = 400;
const LINE_SHOWN = 1_000;
const SIGNS = { same: " ", removed: "−", added: "+" } as const;

interface Line {
  kind: LineStep["kind"] | "left out";
  text: string;
}

interface Given {
  before: string;
  after: string;
  /** What the lines with − and with + are. */
  removed: string;
  added: string;
}

export function LineDiffView({ before, after, removed, added }: Given) {
  const lines = useMemo(() => linesOf(lineDiff(before, after)), [before, after]);
  return (
    <div className="line-diff">
      <p className="note">
        − {removed}, + {added}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long differences are scrolled by keys */}
      <ul tabIndex={0} aria-label="Difference">
        {lines.slice(0, LINES_SHOWN).map((line, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the lines of a difference do not move
          <li key={at} className={line.kind === "left out" ? "note" : `side-${line.kind}`}>
            <LineView line={line} />
          </li>
        ))}
      </ul>
      {lines.length > LINES_SHOWN ? (
        <p className="note">{counted(lines.length - LINES_SHOWN, "more line", "more lines")}</p>
      ) : null}
    </div>
  );
}

function LineView({ line: { kind, text } }: { line: Line }) {
  if (kind === "left out") return text;
  const cut = cutText(text, LINE_SHOWN);
  return (
    <>
      <span className="side-sign" aria-hidden>
        {SIGNS[kind]}
      </span>
      {kind === "same" ? null : <span className="visually-hidden">{kind}</span>}
      <code>
        <Marked text={cut.text} />
        {cut.more > 0 ? "…" : ""}
      </code>
    </>
  );
}

function linesOf(steps: readonly LineStep[]): Line[] {
  return steps.flatMap(({ kind, lines }, at): Line[] => {
    const all = lines.map((text): Line => ({ kind, text }));
    if (kind !== "same") return all;
    const [head, tail] = [at === 0 ? 0 : AROUND, at === steps.length - 1 ? 0 : AROUND];
    const more = lines.length - head - tail;
    if (more <= 1) return all;
    const text = `${counted(more, "line", "lines")} unchanged`;
    return [...all.slice(0, head), { kind: "left out", text }, ...all.slice(lines.length - tail)];
  });
}
