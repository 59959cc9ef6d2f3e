/** A field for a text of several lines, and the choice where somebody has changed the stored text meanwhile. */

import { type ReactNode, useEffect, useId, useRef } from "react";
import { VersionConflictError } from "threadkeep";
import { problemOfObject } from "./json_text.js";
import { LineDiffView } from "./line_diff_view.js";
import type { Versioned } from "./versioned_edit.js";

interface EditorGiven {
  label: string;
  text: string;
  onChange: (text: string) => void;
  /** Whether it has to be an object of JSON. */
  isJson?: boolean;
}

export function TextEditor({ label, text, onChange, isJson = false }: EditorGiven) {
  const id = useId();
  const field = useRef<HTMLTextAreaElement>(null);
  // One that is loaded while the dialog is open has the focus then.
  useEffect(() => field.current?.focus(), []);
  const problem = isJson ? problemOfObject(text) : undefined;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        ref={field}
        className="editor"
        value={text}
        rows={16}
        spellCheck={false}
        autoComplete="off"
        aria-invalid={problem !== undefined}
        aria-describedby={`${id}-problem`}
        onChange={({ target }) => onChange(target.value)}
      />
      <p id={`${id}-problem`} className="failure-line" role="status">
        {problem}
      </p>
    </div>
  );
}

interface ConflictGiven {
  mine: string;
  /** What is stored now. */
  theirs: string;
  /** Goes on with what is stored, and forgets what was typed. */
  onTakeTheirs: () => void;
}

/** Shown after a save that came too late. Sending once more replaces what is stored now. */
function Conflict({ mine, theirs, onTakeTheirs }: ConflictGiven) {
  return (
    <section className="callout" aria-label="Conflict">
      <p role="alert">
        Somebody has changed it meanwhile. Save again to replace what is stored now, or take what is
        stored.
      </p>
      <LineDiffView
        before={theirs}
        after={mine}
        removed="what is stored now"
        added="what you typed"
      />
      <button type="button" className="button" onClick={onTakeTheirs}>
        Take what is stored
      </button>
    </section>
  );
}

interface Edited {
  text: string;
  theirs: Versioned | undefined;
  takeTheirs: () => void;
}

/** In place of the error of a save: the choice where the version has moved, nothing once it is made, null for all other errors. */
export function conflictOf(error: Error, { text, theirs, takeTheirs }: Edited): ReactNode {
  if (!(error instanceof VersionConflictError)) return null;
  return theirs ? <Conflict mine={text} theirs={theirs.text} onTakeTheirs={takeTheirs} /> : "";
}
