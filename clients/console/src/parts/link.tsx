/** A link to a place of the console. */

import type { ReactNode } from "react";
import { addressOf, type Route } from "../app/route.js";

interface Given {
  to: Route;
  className?: string | undefined;
  isCurrent?: boolean | undefined;
  children: ReactNode;
}

export function Link({ to, className, isCurrent, children }: Given) {
  return (
    <a href={addressOf(to)} className={className} aria-current={isCurrent ? "page" : undefined}>
      {children}
    </a>
  );
}
