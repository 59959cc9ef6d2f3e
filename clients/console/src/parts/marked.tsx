/** Texts of ids, keys, paths and arguments: each hidden character is a visible mark. */

import { useMemo } from "react";
import { visibleParts } from "../content/hidden_characters.js";

export function Marked({ text, className }: { text: string; className?: string | undefined }) {
  const parts = useMemo(() => placed(text), [text]);
  return (
    <bdi className={className}>
      {parts.map(({ at, part }) =>
        typeof part === "string" ? (
          part
        ) : (
          <span key={at} className="hidden-mark" title={`${part.code}, ${part.name}`}>
            {part.code}
          </span>
        ),
      )}
    </bdi>
  );
}

/** Each part with its place, which is its key. */
function placed(text: string) {
  return visibleParts(text).map((part, at) => ({ part, at }));
}
