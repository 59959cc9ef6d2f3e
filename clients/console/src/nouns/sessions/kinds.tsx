/** The kinds of sessions as links, with how many sessions each one has. */

import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { MoreButton } from "../../parts/more_button.js";
import { Failure, Loading } from "../../parts/states.js";
import { Count } from "../../parts/units.js";
import type { useKinds } from "./queries.js";

interface Given {
  query: ReturnType<typeof useKinds>;
  chosen: string;
}

export function Kinds({ query, chosen }: Given) {
  const { data, error, refetch } = query;
  const kinds = data?.pages.flatMap((page) => page.kinds) ?? [];
  if (!data && !error) return <Loading />;
  return (
    <>
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      {kinds.length === 0 ? null : (
        <nav aria-label="Kinds of sessions">
          <ul className="choices">
            {kinds.map(({ kind, sessions, partial }) => (
              <li key={kind} className="counted-link">
                <Link to={{ page: "sessions", kind }} isCurrent={kind === chosen}>
                  <Marked text={kind} />
                </Link>
                <Count of={sessions} hasMore={partial} what="sessions" />
              </li>
            ))}
          </ul>
        </nav>
      )}
      <MoreButton query={query} title="More kinds" />
    </>
  );
}
