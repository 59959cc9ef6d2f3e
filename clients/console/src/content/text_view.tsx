/** A text of a message: markdown while it is small, else its beginning as it is. */

import { lazy, Suspense, useState } from "react";
import { CopyButton, DownloadButton } from "../parts/copy.js";
import { Guard } from "../parts/guard.js";
import { counted, cutText, encodable, TEXT_SHOWN_MAX } from "./json_tree.js";

const Markdown = lazy(() => import("./markdown.js"));

/** Marks that nest make the reader of markdown slow and deep. */
const NESTED = /[>*_~[\]()!-]{40}|(?:[>*+-] ?){20}|(?:\d+[.)] ?){20}|^ {200}/m;

/** Whether a file of this name holds markdown. */
export function isMarkdownName(name: string): boolean {
  return /\.(md|markdown)$/i.test(name);
}

/** Whether a text is read as markdown. */
export function isReadable(text: string): boolean {
  return text.length <= TEXT_SHOWN_MAX && !NESTED.test(text);
}

export function TextView({ text, isPlain }: { text: string; isPlain?: boolean }) {
  if (isPlain || !isReadable(text)) return <PlainText text={text} />;
  const plain = <PlainText text={text} />;
  return (
    <div className="markdown">
      <Guard instead={() => plain}>
        <Suspense fallback={plain}>
          <Markdown text={text} />
        </Suspense>
      </Guard>
    </div>
  );
}

/** So much fits into the frame of a text on a narrow page, too. */
const SEEN_CHARACTERS = 800;
const SEEN_LINES = 20;
/** More makes a page slow. */
const TEXT_WHOLE_MAX = 1_000_000;

/** Whether a text may be higher than its frame, which keys have to scroll then. */
function mayScroll(text: string): boolean {
  return text.length > SEEN_CHARACTERS || text.split("\n", SEEN_LINES + 1).length > SEEN_LINES;
}

/** The beginning of a text, then as much as a page can hold; the rest as a download. */
export function PlainText({ text, shown = TEXT_SHOWN_MAX }: { text: string; shown?: number }) {
  const [max, setMax] = useState(Math.min(shown, TEXT_SHOWN_MAX));
  const next = max < TEXT_SHOWN_MAX ? TEXT_SHOWN_MAX : TEXT_WHOLE_MAX;
  const cut = cutText(text, max);
  return (
    <div className="plain-text">
      <pre tabIndex={mayScroll(cut.text) ? 0 : undefined}>{cut.text}</pre>
      {cut.more > 0 ? (
        <p className="cut">
          {counted(cut.more, "more character", "more characters")}{" "}
          {max < next ? (
            <button type="button" className="link-button" onClick={() => setMax(next)}>
              show more
            </button>
          ) : null}
          <CopyButton text={() => encodable(text)} what="the whole text" />
          <DownloadButton bytes={() => encodable(text)} name="text.txt" />
        </p>
      ) : null}
    </div>
  );
}
