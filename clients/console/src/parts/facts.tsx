/** A fact of a thing, for `<dl className="facts">`. */

import type { ReactNode } from "react";

export function Fact({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>{children}</dd>
    </div>
  );
}
