/** A line of a text file with those around it: where a search has led to. */

import { useEffect, useMemo, useRef } from "react";
import { textOfBytes } from "../../content/images.js";
import { cutText } from "../../content/json_tree.js";
import { Marked } from "../../parts/marked.js";
import { linesAround } from "./lines.js";

const LINE_SHOWN_MAX = 2_000;

export function LineView({ bytes, line }: { bytes: Uint8Array; line: number }) {
  const shown = useMemo(() => linesAround(textOfBytes(bytes) ?? "", line), [bytes, line]);
  const here = useRef<HTMLLIElement>(null);
  useEffect(() => {
    // Newer browsers answer with a promise, which is no end of an effect.
    here.current?.scrollIntoView({ block: "nearest" });
  }, []);
  if (shown.length === 0) return <p className="note">The file has no line {line} any more.</p>;
  return (
    <section className="line-view" aria-label={`Line ${line}`}>
      <ol start={shown[0]?.number}>
        {shown.map(({ number, text }) => (
          <li
            key={number}
            ref={number === line ? here : undefined}
            aria-current={number === line ? "true" : undefined}
          >
            <code>
              <Marked text={cutText(text, LINE_SHOWN_MAX).text} />
            </code>
          </li>
        ))}
      </ol>
    </section>
  );
}
