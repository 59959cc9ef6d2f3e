/** Follows a list that grows at its end. */

import { useEffect, useRef, useState } from "react";
import { counted } from "../content/json_tree.js";

/** So near the end somebody reads along. */
const NEAR_END_PX = 240;

/** Goes on to new messages where somebody reads the newest; else says how many there are. */
export function NewMessages({ count }: { count: number }) {
  const [seen, setSeen] = useState(count);
  const isNearEnd = useNearEnd();
  const last = useRef(count);
  useEffect(() => {
    const isNew = count > last.current;
    last.current = count;
    if (!isNearEnd.current) return;
    setSeen(count);
    if (isNew) window.scrollTo({ top: document.documentElement.scrollHeight });
  }, [count, isNearEnd]);
  if (count <= seen) return null;
  return (
    <button
      type="button"
      className="button new-messages"
      onClick={() => {
        setSeen(count);
        window.scrollTo({ top: document.documentElement.scrollHeight });
      }}
    >
      {counted(count - seen, "new message", "new messages")}
    </button>
  );
}

function useNearEnd() {
  const isNearEnd = useRef(true);
  useEffect(() => {
    const note = () => {
      const { scrollHeight } = document.documentElement;
      isNearEnd.current = window.scrollY + window.innerHeight >= scrollHeight - NEAR_END_PX;
    };
    note();
    window.addEventListener("scroll", note, { passive: true });
    return () => window.removeEventListener("scroll", note);
  }, []);
  return isNearEnd;
}
