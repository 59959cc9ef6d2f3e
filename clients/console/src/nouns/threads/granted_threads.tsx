/** The threads of a token that names them one by one. The server has no list for it. */

import { useApi } from "../../api/context.js";
import { grantedThreadIds } from "../../api/grants.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Empty } from "../../parts/states.js";

export function GrantedThreads() {
  const { identity } = useApi();
  const ids = grantedThreadIds(identity);
  if (ids.length === 0) return <Empty title="This key or token reads no thread" />;
  return (
    <ul className="plain-list" aria-label="Threads of this token">
      {ids.map((threadId) => (
        <li key={threadId}>
          <Link to={{ page: "thread", threadId, tab: "conversation" }}>
            <Marked text={threadId} />
          </Link>
        </li>
      ))}
    </ul>
  );
}
