/** The state at a checkpoint: its channels, each loaded when it is opened. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { StateWrite } from "threadkeep";
import { useApi } from "../../api/context.js";
import type { ThreadRoute } from "../../app/route.js";
import { hasCuts } from "../../content/cut.js";
import { CutSourceContext, WITHOUT_PLACES } from "../../content/cut_source.js";
import { JsonTree } from "../../content/json_tree_view.js";
import { CopyButton } from "../../parts/copy.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { Time } from "../../parts/units.js";
import { useTasks } from "../threads/queries.js";
import { Channel } from "./channel_view.js";
import { isOfGraph, type Step, stepOf } from "./skeleton.js";

interface Given {
  route: ThreadRoute;
  version: string;
}

/** The checkpoint of an address, or the newest, without its values. */
export function useStep(
  threadId: string,
  ns: string,
  checkpointId: string | undefined,
  version: string,
) {
  const { client } = useApi();
  return useQuery({
    queryKey: ["step", threadId, ns, checkpointId ?? version],
    queryFn: async ({ signal }) => {
      const page = await client.checkpoints.list({
        threadId,
        checkpointNs: ns,
        checkpointId,
        limit: 1,
        signal,
      });
      const [found] = page.checkpoints;
      return found ? stepOf(found) : null;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function StateTab({ route, version }: Given) {
  const { threadId, ns = "", checkpoint } = route;
  const { data: step, error, refetch } = useStep(threadId, ns, checkpoint, version);
  if (error) return <Failure error={error} retry={() => void refetch()} />;
  if (step === undefined) return <Loading />;
  if (step === null) {
    return (
      <Empty title="There is no such checkpoint">
        It was pruned or deleted, or is not granted to this key.
      </Empty>
    );
  }
  const channels = Object.keys(step.versions);
  const [own, ofGraph] = [channels.filter((name) => !isOfGraph(name)), channels.filter(isOfGraph)];
  return (
    <div className="state">
      <StepFacts step={step} threadId={threadId} isNewest={checkpoint === undefined} />
      <h2>Channels</h2>
      {own.length === 0 ? <p className="note">It has none.</p> : null}
      {own.map((name) => (
        <Channel key={name} name={name} threadId={threadId} step={step} />
      ))}
      {ofGraph.length > 0 ? (
        <details>
          <summary>Channels that steer the graph ({ofGraph.length})</summary>
          {ofGraph.map((name) => (
            <Channel key={name} name={name} threadId={threadId} step={step} />
          ))}
        </details>
      ) : null}
      <PendingWrites threadId={threadId} step={step} version={version} />
      <h2>Metadata</h2>
      <JsonTree value={step.metadata} what="the metadata" />
    </div>
  );
}

function StepFacts({
  step,
  threadId,
  isNewest,
}: {
  step: Step;
  threadId: string;
  isNewest: boolean;
}) {
  const { ns, checkpointId, parentId } = step;
  const at = { page: "thread", threadId, ns: ns || undefined } as const;
  return (
    <p className="thread-facts">
      <span>
        Step {step.step ?? "?"}, {step.source ?? "unknown source"}
        {isNewest ? ", the newest" : ""}
      </span>
      <Marked className="thread-id" text={checkpointId} />
      <CopyButton text={() => checkpointId} what="the checkpoint id" />
      <Time at={step.createdAt} />
      {ns === "" ? null : (
        <span>
          namespace <Marked text={ns} />
        </span>
      )}
      {isNewest ? (
        <Link to={{ ...at, tab: "state", checkpoint: checkpointId }}>Stay at this checkpoint</Link>
      ) : null}
      {parentId === undefined ? null : (
        <>
          <Link to={{ ...at, tab: "state", checkpoint: parentId }}>Its parent</Link>
          <Link to={{ ...at, tab: "diff", from: parentId, to: checkpointId }}>
            Diff to its parent
          </Link>
        </>
      )}
    </p>
  );
}

/** Their values are no part of the values of the state, so they are read when they are asked for. */
function PendingWrites({
  threadId,
  step,
  version,
}: {
  threadId: string;
  step: Step;
  version: string;
}) {
  const [isAsked, setIsAsked] = useState(false);
  const [isWhole, setIsWhole] = useState(false);
  const name = { threadId, ns: step.ns, checkpoint: step.checkpointId };
  const { data, error, refetch } = useTasks(name, version, { isWhole, enabled: isAsked });
  return (
    <section>
      <h2>Pending writes</h2>
      {isAsked ? null : (
        <button type="button" className="button" onClick={() => setIsAsked(true)}>
          Load them
        </button>
      )}
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      {isAsked && data === undefined && !error ? <Loading /> : null}
      {data ? (
        <Writes writes={data.writes} isWhole={isWhole} onWhole={() => setIsWhole(true)} />
      ) : null}
    </section>
  );
}

interface WritesGiven {
  writes: readonly StateWrite[];
  isWhole: boolean;
  onWhole: () => void;
}

function Writes({ writes, isWhole, onWhole }: WritesGiven) {
  if (writes.length === 0) return <p className="note">There are none.</p>;
  const isCut = !isWhole && hasCuts(writes);
  return (
    <CutSourceContext value={isCut ? WITHOUT_PLACES : undefined}>
      {isCut ? (
        <button type="button" className="button" onClick={onWhole}>
          Load long values whole
        </button>
      ) : null}
      <JsonTree value={writes} what="the writes" />
    </CutSourceContext>
  );
}
