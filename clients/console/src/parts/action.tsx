/** Buttons of actions. Each names the operations that it calls; one that is not allowed stays in the page and says what it needs. */

import { type ReactNode, useId, useState } from "react";
import type { Identity } from "threadkeep";
import { missingOf, type Need } from "../api/capabilities.js";
import { useApi } from "../api/context.js";
import { useOffered } from "../app/page_actions.js";
import { Marked } from "./marked.js";

export interface Action {
  label: string;
  needs: readonly Need[];
  /** What the button opens. `close` ends it. */
  dialog: (close: () => void) => ReactNode;
}

/** The first thing that the caller lacks for these; undefined: the action is allowed. */
export function useMissing(needs: readonly Need[]): string | undefined {
  return firstMissing(useApi().identity, needs);
}

function firstMissing(identity: Identity, needs: readonly Need[]): string | undefined {
  for (const need of needs) {
    const missing = missingOf(identity, need);
    if (missing !== undefined) return missing;
  }
  return undefined;
}

interface BarGiven {
  label: string;
  actions: readonly Action[];
}

/** A row of actions, and the dialog of the one that is open. */
export function ActionBar({ label, actions }: BarGiven) {
  const { identity } = useApi();
  const [open, setOpen] = useState<string>();
  const allowed = actions.filter(({ needs }) => firstMissing(identity, needs) === undefined);
  useOffered(
    allowed.map((one) => ({ label: one.label, group: label, run: () => setOpen(one.label) })),
  );
  const close = () => setOpen(undefined);
  // What is open stays open where an answer of the server changes the actions.
  const opened = actions.find((one) => one.label === open);
  return (
    <>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset has a border and a legend that is seen */}
      <div className="toolbar actions" role="group" aria-label={label}>
        {actions.map((one) => (
          <ActionButton
            key={one.label}
            label={one.label}
            needs={one.needs}
            onClick={() => setOpen(one.label)}
          />
        ))}
      </div>
      {opened?.dialog(close)}
    </>
  );
}

interface ButtonGiven {
  label: string;
  needs: readonly Need[];
  onClick: () => void;
  className?: string;
}

/** A button that is not allowed can still have the focus, so that a keyboard and a screen reader find the reason. */
export function ActionButton({ label, needs, onClick, className = "button" }: ButtonGiven) {
  const missing = useMissing(needs);
  const id = useId();
  if (missing === undefined) {
    return (
      <button
        type="button"
        className={className}
        data-operations={operationsOf(needs)}
        onClick={onClick}
      >
        {label}
      </button>
    );
  }
  return (
    <span className="not-allowed">
      <button
        type="button"
        className={className}
        aria-disabled="true"
        aria-describedby={id}
        data-operations={operationsOf(needs)}
        title={`needs ${missing}`}
      >
        {label}
      </button>
      <span id={id} className="visually-hidden">
        needs <Marked text={missing} />
      </span>
    </span>
  );
}

/** For the test that tries each button with a dozen of credentials. */
function operationsOf(needs: readonly Need[]): string {
  return needs.map(({ operation }) => operation).join(" ");
}
