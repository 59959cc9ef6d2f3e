/** A table that may be wider than the page. */

import type { ReactNode } from "react";

interface Given {
  /** The id of its title. */
  labelledBy: string;
  heads: readonly string[];
  /** Its rows. */
  children: ReactNode;
}

export function Table({ labelledBy, heads, children }: Given) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table is scrolled by keys
    <section className="table-wrap" aria-labelledby={labelledBy} tabIndex={0}>
      <table>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </section>
  );
}
