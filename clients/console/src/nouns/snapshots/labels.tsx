/** The labels of a snapshot. Each leads to the snapshots that have it. */

import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import type { Labels } from "./queries.js";

export function LabelList({ labels }: { labels: Labels }) {
  return Object.entries(labels).map(([label, value]) => (
    <Link key={label} to={{ page: "snapshots", label, value }}>
      <Marked text={`${label}=${value}`} />
    </Link>
  ));
}
