/** A page, or a part of one, for callers that may read what is in it. */

import type { ReactNode } from "react";
import type { Need } from "../api/capabilities.js";
import { useMissing } from "./action.js";
import { Empty } from "./states.js";

export function Allowed({ needs, children }: { needs: readonly Need[]; children: ReactNode }) {
  const missing = useMissing(needs);
  if (missing === undefined) return children;
  return (
    <Empty title="This key or token may not see it">
      It needs <code>{missing}</code>.
    </Empty>
  );
}
