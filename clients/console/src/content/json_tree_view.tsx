/** A value as a tree that opens where a person opens it. Copy gives the whole value. */

import { ChevronRight } from "lucide-react";
import { useState } from "react";
import { CopyButton } from "../parts/copy.js";
import { Marked } from "../parts/marked.js";
import { sizeText } from "../parts/units.js";
import {
  counted,
  cutText,
  ENTRIES_SHOWN,
  entriesOf,
  hasEntries,
  jsonText,
  type Name,
  scalarText,
  summaryOf,
  TEXT_SHOWN,
  TEXT_SHOWN_MAX,
} from "./json_tree.js";
import { opaqueOf } from "./shapes.js";

interface Given {
  value: unknown;
  /** What it is, for the copy button. */
  what: string;
  isOpen?: boolean;
}

export function JsonTree({ value, what, isOpen = true }: Given) {
  return (
    <div className="json">
      <CopyButton text={() => jsonText(value)} what={what} />
      {hasEntries(value) ? (
        <Node value={value} name={undefined} isOpenFirst={isOpen} />
      ) : (
        <Leaf value={value} />
      )}
    </div>
  );
}

function Node(given: { value: unknown; name: Name | undefined; isOpenFirst?: boolean }) {
  const { value, name } = given;
  const [isOpen, setIsOpen] = useState(given.isOpenFirst === true);
  return (
    <>
      <button
        type="button"
        className="json-toggle"
        aria-expanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
      >
        <ChevronRight aria-hidden className={isOpen ? "turned" : ""} />
        <NameText name={name} />
        <span className="json-summary">
          <Marked text={summaryOf(value)} />
        </span>
      </button>
      {isOpen ? <Entries value={value} /> : null}
    </>
  );
}

function Entries({ value }: { value: unknown }) {
  const [count, setCount] = useState(ENTRIES_SHOWN);
  const { entries, more } = entriesOf(value, count);
  return (
    <ul className="json-entries">
      {entries.map(([name, entry]) => (
        <li key={name}>
          {hasEntries(entry) ? (
            <Node value={entry} name={name} />
          ) : (
            <div className="json-leaf">
              <NameText name={name} />
              <Leaf value={entry} />
            </div>
          )}
        </li>
      ))}
      {more > 0 ? (
        <li>
          <button
            type="button"
            className="link-button"
            onClick={() => setCount(count + ENTRIES_SHOWN)}
          >
            {counted(more, "more entry", "more entries")}
          </button>
        </li>
      ) : null}
    </ul>
  );
}

function NameText({ name }: { name: Name | undefined }) {
  if (name === undefined) return null;
  return (
    <span className="json-name">
      <Marked text={String(name)} />:
    </span>
  );
}

function Leaf({ value }: { value: unknown }) {
  const opaque = opaqueOf(value);
  if (opaque) {
    const size = opaque.sizeBytes === undefined ? "" : `, ${sizeText(opaque.sizeBytes)}`;
    return (
      <span className="json-opaque" title={opaque.reason}>
        cannot be shown: <Marked text={`${opaque.codec}${size}. ${opaque.reason}`} />
      </span>
    );
  }
  if (typeof value === "string") return <TextLeaf text={value} />;
  const kind = value === null ? "null" : typeof value;
  const isEmpty = typeof value === "object" && value !== null;
  return <span className={`json-${kind}`}>{isEmpty ? summaryOf(value) : scalarText(value)}</span>;
}

function TextLeaf({ text }: { text: string }) {
  const [max, setMax] = useState(TEXT_SHOWN);
  const cut = cutText(text, max);
  return (
    <span className="json-string">
      “<Marked text={cut.text} />
      {cut.more > 0 ? "…" : "”"}
      {cut.more > 0 ? (
        <>
          {" "}
          {max < TEXT_SHOWN_MAX ? (
            <button type="button" className="link-button" onClick={() => setMax(TEXT_SHOWN_MAX)}>
              show more
            </button>
          ) : null}{" "}
          <span className="note">{counted(cut.more, "more character", "more characters")}</span>
          <CopyButton text={() => text} what="the whole text" />
        </>
      ) : null}
    </span>
  );
}
