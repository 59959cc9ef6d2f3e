/** The actions that the open page offers and that are allowed, for the palette. */

import { useEffect, useRef, useSyncExternalStore } from "react";
import { Listeners } from "../api/listeners.js";

export interface PageAction {
  label: string;
  /** What it is done to: the name of its group of buttons. */
  group: string;
  run: () => void;
}

const listeners = new Listeners();
let offered: readonly PageAction[] = [];

/** Offers these while the caller is shown. */
export function useOffered(actions: readonly PageAction[]): void {
  const latest = useRef(actions);
  useEffect(() => {
    latest.current = actions;
  });
  const names = JSON.stringify(actions.map(({ label, group }) => [label, group]));
  useEffect(() => {
    const found = (JSON.parse(names) as [string, string][]).map(
      ([label, group], at): PageAction => ({
        label,
        group,
        run: () => latest.current[at]?.run(),
      }),
    );
    write([...offered, ...found]);
    return () => write(offered.filter((one) => !found.includes(one)));
  }, [names]);
}

export function usePageActions(): readonly PageAction[] {
  return useSyncExternalStore(listeners.subscribe, () => offered);
}

function write(next: readonly PageAction[]): void {
  offered = next;
  listeners.notify();
}
