/** Says which steps changed a channel, up to a checkpoint. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { TimelineNode } from "threadkeep";
import { useApi } from "../../api/context.js";
import { counted } from "../../content/json_tree.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Failure, Loading } from "../../parts/states.js";
import { Time } from "../../parts/units.js";
import { changersOf, followParents } from "./ancestry.js";
import type { ChannelName } from "./channels.js";
import { isOfGraph, type Step } from "./skeleton.js";

/** Steps that are looked at for one answer: at about 240 bytes, 50 KB. */
const STEPS_AT_ONCE = 200;
const CHANGERS_SHOWN = 50;

export function Blame(given: ChannelName) {
  const [isOpen, setIsOpen] = useState(false);
  // The timeline does not tell of them.
  if (isOfGraph(given.name)) return null;
  return (
    <details className="blame" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>Steps that changed it</summary>
      {isOpen ? <Changers {...given} /> : null}
    </details>
  );
}

/** All channels of a checkpoint share the steps. */
function useAncestry(threadId: string, { ns, checkpointId }: Step) {
  const { client } = useApi();
  return useInfiniteQuery({
    queryKey: ["ancestry", threadId, ns, checkpointId],
    queryFn: async ({ pageParam: { from, before }, signal }) => {
      const options = { checkpointNs: ns, before, limit: STEPS_AT_ONCE, signal };
      const { nodes, nextCursor } = await client.checkpoints.timeline(threadId, options);
      const { steps, next } = followParents(from, nodes);
      const last = nextCursor === undefined ? undefined : nodes.at(-1)?.checkpointId;
      return { steps, next, last, looked: nodes.length };
    },
    // The id itself and those before it: no other id is between.
    initialPageParam: { from: checkpointId, before: `${checkpointId}!` },
    getNextPageParam: ({ next, last }) =>
      next === undefined || last === undefined ? undefined : { from: next, before: last },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

function Changers({ name, threadId, step }: ChannelName) {
  const query = useAncestry(threadId, step);
  const { data, error, refetch, hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading />;
  const steps = data.pages.flatMap((page) => page.steps);
  const changers = changersOf(name, steps);
  const more = changers.length - CHANGERS_SHOWN;
  return (
    <>
      {changers.length === 0 ? (
        <p className="note">{`None of ${counted(steps.length, "step", "steps")} changed it.`}</p>
      ) : null}
      <ul className="plain-list">
        {changers.slice(0, CHANGERS_SHOWN).map((node) => (
          <li key={node.checkpointId}>
            <Changer threadId={threadId} node={node} />
          </li>
        ))}
      </ul>
      {more > 0 ? <p className="note">{counted(more, "earlier one", "earlier ones")}</p> : null}
      {error ? <Failure error={error} /> : null}
      {isFetchingNextPage ? <Loading /> : null}
      {hasNextPage && !isFetchingNextPage ? (
        <button type="button" className="button" onClick={() => void fetchNextPage()}>
          Look at earlier steps
        </button>
      ) : null}
    </>
  );
}

function Changer({ threadId, node }: { threadId: string; node: TimelineNode }) {
  const { checkpointId, parentCheckpointId, checkpointNs, step, source, node: ran, changed } = node;
  const at = { page: "thread", threadId, ns: checkpointNs || undefined } as const;
  return (
    <>
      <Link to={{ ...at, tab: "state", checkpoint: checkpointId }}>Step {step ?? "?"}</Link>{" "}
      <Marked text={ran ?? source ?? ""} /> <Time at={node.createdAt} />{" "}
      {changed === undefined ? (
        <span className="note">perhaps: the step before it is not stored</span>
      ) : null}{" "}
      {parentCheckpointId === undefined || changed === undefined ? null : (
        <Link to={{ ...at, tab: "diff", from: parentCheckpointId, to: checkpointId }}>
          What it changed
        </Link>
      )}
    </>
  );
}
