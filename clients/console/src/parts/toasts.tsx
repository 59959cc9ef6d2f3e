/** Says what an action has done, and offers Undo where the server can take it back. */

import { useQueryClient } from "@tanstack/react-query";
import { X } from "lucide-react";
import { type ReactNode, useEffect, useState, useSyncExternalStore } from "react";
import { Listeners } from "../api/listeners.js";
import { titleOf } from "./states.js";

/** More than these would cover the page: the oldest goes. */
const SHOWN_MAX = 3;
/** Only a text goes by itself: nobody is to lose a link or Undo by being slow. */
const SHOWN_MS = 8_000;

export interface Toast {
  text: ReactNode;
  /** Takes the action back; what it answers is said then. */
  undo?: (() => Promise<string>) | undefined;
}

interface Shown extends Toast {
  id: number;
}

const listeners = new Listeners();
let shown: readonly Shown[] = [];
let last = 0;

export function showToast(toast: Toast): void {
  last += 1;
  write([...shown, { ...toast, id: last }].slice(-SHOWN_MAX));
}

/** Nothing of one key is said, or taken back, under another one. */
export function clearToasts(): void {
  write([]);
}

function close(id: number): void {
  write(shown.filter((one) => one.id !== id));
}

function write(next: readonly Shown[]): void {
  shown = next;
  listeners.notify();
}

export function Toasts() {
  const toasts = useSyncExternalStore(listeners.subscribe, () => shown);
  return (
    <section className="toasts" aria-label="What was done">
      <div role="status">
        {toasts.map((one) => (
          <ToastView key={one.id} toast={one} />
        ))}
      </div>
    </section>
  );
}

function ToastView({ toast }: { toast: Shown }) {
  const { id, text, undo } = toast;
  const queries = useQueryClient();
  const [isBusy, setIsBusy] = useState(false);
  const [failed, setFailed] = useState<unknown>();
  const stays = undo !== undefined || typeof text !== "string";
  useEffect(() => {
    if (stays) return;
    const timer = setTimeout(() => close(id), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [id, stays]);
  const takeBack = async (back: () => Promise<string>) => {
    setIsBusy(true);
    setFailed(undefined);
    try {
      const done = await back();
      void queries.invalidateQueries();
      close(id);
      showToast({ text: done });
    } catch (error) {
      setFailed(error);
    } finally {
      setIsBusy(false);
    }
  };
  return (
    <div className="toast">
      <span>{text}</span>
      {failed === undefined ? null : (
        <span className="failure-line">
          {titleOf(failed)}: {failed instanceof Error ? failed.message : String(failed)}
        </span>
      )}
      {undo ? (
        <button
          type="button"
          className="button"
          disabled={isBusy}
          onClick={() => void takeBack(undo)}
        >
          Undo
        </button>
      ) : null}
      <button type="button" className="icon-button" onClick={() => close(id)} title="Close">
        <X aria-hidden />
        <span className="visually-hidden">Close</span>
      </button>
    </div>
  );
}
