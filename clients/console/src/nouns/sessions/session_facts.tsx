/** Shows what a listing says of a session: its user, its agent, and when it was written. */

import type { Session } from "threadkeep";
import { Marked } from "../../parts/marked.js";
import { Time } from "../../parts/units.js";

export function SessionFacts({ session }: { session: Session }) {
  const { user, agent, createdAtMs, updatedAtMs } = session;
  return (
    <>
      {user === undefined ? null : (
        <span>
          user <Marked text={user} />
        </span>
      )}
      {agent === undefined ? null : (
        <span>
          agent <Marked text={agent} />
        </span>
      )}
      <span>
        created <Time at={new Date(createdAtMs)} />
      </span>
      <span>
        changed <Time at={new Date(updatedAtMs)} />
      </span>
    </>
  );
}
