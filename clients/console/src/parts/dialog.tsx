/** A modal dialog of the browser: the focus stays in it and returns afterwards. */

import { X } from "lucide-react";
import { type ReactNode, useEffect, useId, useRef } from "react";

interface Given {
  title: string;
  /** Absent: it cannot be closed without an answer. */
  onClose?: (() => void) | undefined;
  children: ReactNode;
}

export function Dialog({ title, onClose, children }: Given) {
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const opener = document.activeElement;
    const opened = dialog.current;
    opened?.showModal();
    opened?.querySelector<HTMLElement>("[data-first]")?.focus();
    return () => {
      opened?.close();
      // It is no part of the page any more, so the browser does not give the focus back.
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose?.();
      }}
    >
      <div className="dialog-head">
        <h2 id={titleId}>{title}</h2>
        {onClose ? (
          <button type="button" className="icon-button" onClick={onClose} title="Close">
            <X aria-hidden />
            <span className="visually-hidden">Close</span>
          </button>
        ) : null}
      </div>
      {children}
    </dialog>
  );
}
