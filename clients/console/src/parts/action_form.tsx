/** The form of an action in a dialog: fields, a button that sends, and the error of the server by its code. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type ReactNode, useId } from "react";
import type { Need } from "../api/capabilities.js";
import { useMissing } from "./action.js";
import { CopyButton } from "./copy.js";
import { Dialog } from "./dialog.js";
import { Marked } from "./marked.js";
import { Failure } from "./states.js";

interface Given<Done> {
  title: string;
  /** What the button says that sends. */
  submit: string;
  /** What sending calls, with the things that the fields name. */
  needs: readonly Need[];
  /** False while the fields are not complete. */
  isReady?: boolean | undefined;
  isDangerous?: boolean | undefined;
  run: () => Promise<Done>;
  /** After an answer; the views that the action has changed ask again by themselves. */
  onDone: (done: Done) => void;
  /** In place of the error. */
  onError?: ((error: Error) => ReactNode) | undefined;
  /** Stops what was sent, which Cancel does then. */
  abort?: (() => void) | undefined;
  close: () => void;
  children?: ReactNode;
}

export function ActionForm<Done>(given: Given<Done>) {
  const { title, submit, needs, isReady = true, isDangerous } = given;
  const { run, onDone, onError, abort, close } = given;
  const queries = useQueryClient();
  const missing = useMissing(needs);
  const reason = useId();
  const { mutate, isPending, error } = useMutation({
    mutationFn: run,
    onSuccess: (done) => {
      void queries.invalidateQueries();
      onDone(done);
    },
  });
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (isReady && !isPending && missing === undefined) mutate();
  };
  return (
    // A dialog that is waiting cannot be closed: nobody would see how the action ended.
    <Dialog title={title} onClose={isPending ? undefined : close}>
      <form className="action-form" onSubmit={send} aria-busy={isPending}>
        {given.children}
        {error ? (onError?.(error) ?? <Failure error={error} />) : null}
        {missing === undefined ? null : (
          <p id={reason} className="note">
            This key or token needs <Marked text={missing} />.
          </p>
        )}
        <div className="toolbar">
          <button
            type="submit"
            className={`button ${isDangerous ? "button-danger" : "button-main"}`}
            disabled={!isReady || isPending || missing !== undefined}
            aria-describedby={missing === undefined ? undefined : reason}
          >
            {isPending ? `${submit} …` : submit}
          </button>
          <button
            type="button"
            className="button"
            onClick={isPending ? abort : close}
            disabled={isPending && abort === undefined}
          >
            Cancel
          </button>
        </div>
      </form>
    </Dialog>
  );
}

interface FieldGiven {
  label: string;
  value: string;
  onChange: (value: string) => void;
  note?: ReactNode;
  placeholder?: string | undefined;
  isFirst?: boolean;
}

/** A line of text with its label. */
export function TextField({ label, value, onChange, note, placeholder, isFirst }: FieldGiven) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        value={value}
        placeholder={placeholder}
        spellCheck={false}
        autoComplete="off"
        aria-describedby={note === undefined ? undefined : `${id}-note`}
        data-first={isFirst || undefined}
        onChange={({ target }) => onChange(target.value)}
      />
      {note === undefined ? null : (
        <p id={`${id}-note`} className="note">
          {note}
        </p>
      )}
    </div>
  );
}

interface TypedGiven {
  /** What has to be typed. */
  name: string;
  value: string;
  onChange: (value: string) => void;
}

/** Asks for the name of what is deleted, so that no slip of a finger deletes it. */
export function TypedName({ name, value, onChange }: TypedGiven) {
  return (
    <TextField
      label="Type the name to confirm"
      value={value}
      onChange={onChange}
      note={
        <>
          The name is <Marked text={name} /> <CopyButton text={() => name} what="the name" />
        </>
      }
    />
  );
}

/** Whether a typed name is the one. Hidden characters and line ends cannot be typed, so the name is also taken without them. */
export function isTyped(value: string, name: string): boolean {
  const typeable = name.replace(/[\p{Cc}\p{Cf}\p{Cs}]/gu, "");
  return name !== "" && (value === name || (typeable !== "" && value.trim() === typeable.trim()));
}

interface CheckGiven {
  label: ReactNode;
  isChecked: boolean;
  onChange: (isChecked: boolean) => void;
  isDisabled?: boolean;
}

export function CheckField({ label, isChecked, onChange, isDisabled = false }: CheckGiven) {
  return (
    <label className="check">
      <input
        type="checkbox"
        checked={isChecked}
        disabled={isDisabled}
        onChange={({ target }) => onChange(target.checked)}
      />{" "}
      <span>{label}</span>
    </label>
  );
}
