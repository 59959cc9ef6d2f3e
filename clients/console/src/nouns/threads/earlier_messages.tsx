/** Loads messages before those that are shown, and keeps what a person reads where it is. */

import { useLayoutEffect, useRef } from "react";
import { counted } from "../../content/json_tree.js";
import { Failure } from "../../parts/states.js";
import type { Earlier } from "./messages.js";

interface Given {
  earlier: Earlier;
  /** Whether the list itself keeps its first row where it is. */
  isKept?: boolean;
}

export function EarlierMessages({ earlier, isKept = false }: Given) {
  const { count, load, isLoading, error } = earlier;
  const asked = useRef<{ count: number; heightPx: number }>(undefined);
  useLayoutEffect(() => {
    const before = asked.current;
    if (isKept || !before || before.count === count) return;
    asked.current = undefined;
    window.scrollBy({ top: document.documentElement.scrollHeight - before.heightPx });
  }, [count, isKept]);
  if (count === 0) return null;
  return (
    <div className="earlier-messages">
      {error ? <Failure error={error} /> : null}
      <button
        type="button"
        className="button"
        disabled={isLoading}
        onClick={() => {
          asked.current = { count, heightPx: document.documentElement.scrollHeight };
          load();
        }}
      >
        Show earlier
      </button>{" "}
      <span className="note">{counted(count, "earlier message", "earlier messages")}</span>
    </div>
  );
}
