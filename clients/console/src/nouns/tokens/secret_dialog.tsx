/** Shows the text of a new key or token once. Nothing of the page has it when the dialog is closed. */

import { type ReactNode, useRef, useState } from "react";
import { CodeBlock } from "../../parts/code.js";
import { Dialog } from "../../parts/dialog.js";

interface Given {
  title: string;
  /** "the key" */
  what: string;
  secret: string;
  close: () => void;
  children?: ReactNode;
}

export function SecretDialog({ title, what, secret, close, children }: Given) {
  return (
    <Dialog title={title} onClose={close}>
      <p className="callout">
        Copy it now: it is shown once. The server does not keep {what}, and this page forgets it
        when you close this.
      </p>
      <CodeBlock text={secret} what={what} />
      <div className="toolbar">
        {children}
        <button type="button" className="button" onClick={close}>
          Done
        </button>
      </div>
    </Dialog>
  );
}

/** Holds what was made until it is shown. It goes past the cache of answers, which never has it. */
export function useShownOnce<Made>() {
  const made = useRef<Made>(undefined);
  const [shown, setShown] = useState<Made>();
  return {
    shown,
    keep: (one: Made) => {
      made.current = one;
    },
    show: () => {
      setShown(made.current);
      made.current = undefined;
    },
  };
}
