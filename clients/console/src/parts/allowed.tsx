/** A page, or a part of one, for callers that may read what is in it. */

import type { ReactNode } from "react";
import type { Need } from "../api/capabilities.js";
import { useApi } from "../api/context.js";
import { isOperator } from "../api/grants.js";
import { useMissing } from "./action.js";
import { Empty } from "./states.js";

export function Allowed({ needs, children }: { needs: readonly Need[]; children: ReactNode }) {
  const missing = useMissing(needs);
  const { identity } = useApi();
  if (missing === undefined) return children;
  if (isOperator(identity)) {
    return (
      <Empty title="The key of an operator may not see it">
        It is for keys and tokens that read a whole tenant.
      </Empty>
    );
  }
  return (
    <Empty title="This key or token may not see it">
      It needs <code>{missing}</code>.
    </Empty>
  );
}
