/** The palette: a field that leads to an id, a section or an action of the page. Ctrl K or ⌘K opens it. */

import { Search } from "lucide-react";
import { type KeyboardEvent, useId, useState } from "react";
import { useApi } from "../api/context.js";
import { isOperator, maySee } from "../api/grants.js";
import { Dialog } from "../parts/dialog.js";
import { Marked } from "../parts/marked.js";
import { useShortcut } from "./keyboard.js";
import { navigate } from "./location.js";
import { usePageActions } from "./page_actions.js";
import { type Entry, entriesOf, type SectionEntry } from "./palette_entries.js";
import type { Route } from "./route.js";

interface Given {
  sections: readonly SectionEntry[];
  route: Route;
}

export function Palette({ sections, route }: Given) {
  const [isOpen, setIsOpen] = useState(false);
  useShortcut("Ctrl K", () => setIsOpen(true));
  const close = () => setIsOpen(false);
  return (
    <>
      <button
        type="button"
        className="icon-button"
        title="Go to (Ctrl K)"
        onClick={() => setIsOpen(true)}
      >
        <Search aria-hidden />
        <span className="visually-hidden">Go to</span>
      </button>
      {isOpen ? (
        <Dialog title="Go to" onClose={close}>
          <Chooser sections={sections} route={route} close={close} />
        </Dialog>
      ) : null}
    </>
  );
}

/** After the ARIA pattern of a combobox with a list: the focus stays in the field, keys move the chosen entry. */
function Chooser({ sections, route, close }: Given & { close: () => void }) {
  const { identity } = useApi();
  const actions = usePageActions();
  const [text, setText] = useState("");
  const [chosen, setChosen] = useState(0);
  const base = useId();
  const see = (section: Parameters<typeof maySee>[1]) => maySee(identity, section);
  const hasTenants = isOperator(identity);
  const entries = entriesOf(text, { sections, actions, route, maySee: see, hasTenants });
  const at = Math.min(chosen, entries.length - 1);
  const choose = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    close();
    if ("to" in entry) navigate(entry.to);
    else entry.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter") {
      event.preventDefault();
      choose(entries[at]);
      return;
    }
    const next = nextOf(event.key, at, entries.length);
    if (next === undefined) return;
    event.preventDefault();
    setChosen(next);
    document.getElementById(`${base}-${next}`)?.scrollIntoView({ block: "nearest" });
  };
  return (
    <div className="palette">
      <label htmlFor={`${base}-field`}>An id, a section or an action</label>
      <input
        id={`${base}-field`}
        role="combobox"
        aria-expanded={entries.length > 0}
        aria-controls={`${base}-list`}
        aria-autocomplete="list"
        aria-activedescendant={entries.length > 0 ? `${base}-${at}` : undefined}
        autoComplete="off"
        spellCheck={false}
        data-first
        value={text}
        onChange={({ target }) => {
          setText(target.value);
          setChosen(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div role="listbox" id={`${base}-list`} aria-label="Places and actions">
        {entries.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the keys
          <div
            key={entry.id}
            id={`${base}-${index}`}
            role="option"
            aria-selected={index === at}
            tabIndex={-1}
            onClick={() => choose(entry)}
          >
            <Marked text={entry.text} className="palette-text" />
            <span className="palette-kind">{entry.kind}</span>
          </div>
        ))}
      </div>
      <p role="status" className="note">
        {entries.length === 0
          ? "Nothing has this name. A key or token is not looked for."
          : `${entries.length} to choose from`}
      </p>
    </div>
  );
}

function nextOf(key: string, at: number, count: number): number | undefined {
  if (count === 0) return undefined;
  switch (key) {
    case "ArrowDown":
      return (at + 1) % count;
    case "ArrowUp":
      return (at - 1 + count) % count;
    case "PageDown":
      return count - 1;
    case "PageUp":
      return 0;
    default:
      return undefined;
  }
}
