/** A value as a tree that opens where a person opens it. Copy gives the whole value. */

import { ChevronRight } from "lucide-react";
import { type ReactNode, useState } from "react";
import { CopyButton } from "../parts/copy.js";
import { Marked } from "../parts/marked.js";
import { sizeText } from "../parts/units.js";
import { type Cut, cutOf, hasCuts } from "./cut.js";
import { useCutSource } from "./cut_source.js";
import { CutView } from "./cut_view.js";
import {
  counted,
  cutText,
  ENTRIES_SHOWN,
  encodable,
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
import { PlainText } from "./text_view.js";

interface Given {
  value: unknown;
  /** What it is, for the copy button. */
  what: string;
  isOpen?: boolean;
  /** The text that is copied, where it is not that of `value`. */
  text?: (() => string | Promise<string>) | undefined;
}

export function JsonTree({ value, what, isOpen = true, text }: Given) {
  const isWhole = useCutSource() === undefined;
  // Nothing that is cut is copied: each cut place has a button for all of it.
  const copied = text ?? (isWhole || !hasCuts(value) ? () => jsonText(value) : undefined);
  return (
    <div className="json">
      {copied ? <CopyButton text={copied} what={what} /> : null}
      <Value value={value} name={undefined} isOpen={isOpen} />
    </div>
  );
}

interface ValueGiven {
  value: unknown;
  name: Name | undefined;
  isOpen?: boolean;
  isWhole?: boolean;
}

function Value({ value, name, isOpen = false, isWhole = false }: ValueGiven) {
  const cut = useCutSource() && cutOf(value);
  if (cut) return <CutEntry cut={cut} name={name} isOpen={isOpen} />;
  if (hasEntries(value)) return <Node value={value} name={name} isOpenFirst={isOpen} />;
  return (
    <div className={name === undefined ? "" : "json-leaf"}>
      <NameText name={name} />
      <Leaf value={value} isWhole={isWhole} />
    </div>
  );
}

/** A cut place opens as any other one does: then it shows its head, and offers the rest. */
function CutEntry({ cut, name, isOpen }: { cut: Cut; name: Name | undefined; isOpen: boolean }) {
  const what = name === undefined ? "the value" : String(name);
  if (cut.length === undefined) {
    return (
      <div className={name === undefined ? "" : "json-leaf"}>
        <NameText name={name} />
        <CutView
          cut={cut}
          what={what}
          render={(value, isWhole) => <Value value={value} name={undefined} isWhole={isWhole} />}
        />
      </div>
    );
  }
  return (
    <Toggle name={name} summary={cutSummary(cut)} isOpenFirst={isOpen}>
      <CutView
        cut={cut}
        what={what}
        render={(value, isWhole) => <Entries value={value} from={isWhole ? 0 : cut.from} />}
      />
    </Toggle>
  );
}

function cutSummary({ length = 0, sizeBytes, head }: Cut): string {
  const [open, close] = Array.isArray(head) ? ["[", "]"] : ["{", "}"];
  return `${open}${counted(length, "entry", "entries")}${close} ${sizeText(sizeBytes)}`;
}

function Node(given: { value: unknown; name: Name | undefined; isOpenFirst: boolean }) {
  const { value, name, isOpenFirst } = given;
  return (
    <Toggle name={name} summary={summaryOf(value)} isOpenFirst={isOpenFirst}>
      <Entries value={value} from={0} />
    </Toggle>
  );
}

interface ToggleGiven {
  name: Name | undefined;
  summary: string;
  isOpenFirst: boolean;
  children: ReactNode;
}

function Toggle({ name, summary, isOpenFirst, children }: ToggleGiven) {
  const [isOpen, setIsOpen] = useState(isOpenFirst);
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
          <Marked text={summary} />
        </span>
      </button>
      {isOpen ? children : null}
    </>
  );
}

/** `from`: the number of the first entry of a list. */
function Entries({ value, from }: { value: unknown; from: number }) {
  const [count, setCount] = useState(ENTRIES_SHOWN);
  const { entries, more } = entriesOf(value, count);
  return (
    <ul className="json-entries">
      {entries.map(([name, entry]) => (
        <li key={name}>
          <Value value={entry} name={typeof name === "number" ? name + from : name} />
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

function Leaf({ value, isWhole }: { value: unknown; isWhole: boolean }) {
  const opaque = opaqueOf(value);
  if (opaque) {
    const size = opaque.sizeBytes === undefined ? "" : `, ${sizeText(opaque.sizeBytes)}`;
    return (
      <span className="json-opaque" title={opaque.reason}>
        cannot be shown: <Marked text={`${opaque.codec}${size}. ${opaque.reason}`} />
      </span>
    );
  }
  if (typeof value === "string") {
    return isWhole ? <PlainText text={value} /> : <TextLeaf text={value} />;
  }
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
          <CopyButton text={() => encodable(text)} what="the whole text" />
        </>
      ) : null}
    </span>
  );
}
