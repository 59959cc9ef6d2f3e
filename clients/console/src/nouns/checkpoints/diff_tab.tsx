/** Shows the difference of two checkpoints, also of two threads. Of one graph of one thread it loads only channels with different versions. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useApi } from "../../api/context.js";
import type { ThreadRoute } from "../../app/route.js";
import { counted } from "../../content/json_tree.js";
import { PatchView } from "../../content/patch_view.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { compareInWorker } from "../../worker/worker.js";
import { ChoosePair } from "./choose_pair.js";
import { channelsOf, diffRoute, type Spot, sharesVersions, spotsOf } from "./pair.js";
import type { Step } from "./skeleton.js";
import { useStep } from "./state_tab.js";

/** Channels that are compared at once. Each loads two whole values. */
const COMPARED_AT_ONCE = 20;

export function DiffTab({ route }: { route: ThreadRoute }) {
  const [before, after] = spotsOf(route);
  const isChosen = before !== undefined && after !== undefined;
  return (
    <>
      {isChosen ? (
        <SpotsDiff
          key={JSON.stringify([before, after])}
          pair={{ before, after }}
          isShared={sharesVersions(before, after)}
        />
      ) : (
        <Empty title="Two checkpoints make a diff">
          <Link to={{ page: "thread", threadId: route.threadId, tab: "timeline" }}>
            Choose them in the timeline
          </Link>
        </Empty>
      )}
      <ChoosePair key={`form ${JSON.stringify(route)}`} route={route} isOpen={!isChosen} />
    </>
  );
}

interface Pair {
  before: Spot;
  after: Spot;
}

function SpotsDiff({ pair, isShared }: { pair: Pair; isShared: boolean }) {
  const before = useSpot(pair.before);
  const after = useSpot(pair.after);
  const error = before.error ?? after.error;
  if (error) return <Failure error={error} />;
  if (before.data === undefined || after.data === undefined) return <Loading />;
  if (before.data === null || after.data === null)
    return <Empty title="One of the checkpoints is not there" />;
  return <Diff pair={pair} isShared={isShared} before={before.data} after={after.data} />;
}

function useSpot({ threadId, ns, checkpointId }: Spot) {
  return useStep(threadId, ns, checkpointId, "");
}

interface DiffGiven {
  pair: Pair;
  isShared: boolean;
  before: Step;
  after: Step;
}

function Diff({ pair, isShared, before, after }: DiffGiven) {
  const [isWhole, setIsWhole] = useState(false);
  const { toCompare, unchanged } = channelsOf(before, after, isShared);
  const shown = isWhole ? toCompare : toCompare.slice(0, COMPARED_AT_ONCE);
  const more = toCompare.length - shown.length;
  return (
    <div className="diff">
      <p className="thread-facts">
        <span>
          From <SpotLink spot={pair.before} step={before} isNamed={!isShared} /> to{" "}
          <SpotLink spot={pair.after} step={after} isNamed={!isShared} />
        </span>
        <Link to={diffRoute(pair.after, pair.before)}>Swap</Link>
      </p>
      {isShared ? null : (
        <p className="note">
          The checkpoints are of two graphs or threads, whose versions say nothing of each other, so
          the values of all channels are compared.
        </p>
      )}
      {toCompare.length === 0 ? <Empty title="No state channel differs" /> : null}
      {shown.map((name) => (
        <ChannelDiff key={name} name={name} pair={pair} isShared={isShared} />
      ))}
      {more > 0 ? (
        <button type="button" className="button" onClick={() => setIsWhole(true)}>
          Compare {counted(more, "more channel", "more channels")}
        </button>
      ) : null}
      {unchanged.length > 0 ? (
        <p className="note">
          Unchanged: <Marked text={unchanged.join(", ")} />
        </p>
      ) : null}
    </div>
  );
}

function SpotLink({ spot, step, isNamed }: { spot: Spot; step: Step; isNamed: boolean }) {
  const { threadId, ns, checkpointId: checkpoint } = spot;
  return (
    <>
      <Link to={{ page: "thread", threadId, tab: "state", ns: ns || undefined, checkpoint }}>
        step {step.step ?? "?"}
      </Link>
      {isNamed ? (
        <>
          {" of "}
          <Marked text={threadId} />
          {ns === "" ? null : (
            <>
              {", namespace "}
              <Marked text={ns} />
            </>
          )}
        </>
      ) : null}
    </>
  );
}

interface ChannelGiven {
  name: string;
  pair: Pair;
  isShared: boolean;
}

function ChannelDiff({ name, pair, isShared }: ChannelGiven) {
  const { client } = useApi();
  const { data, error, refetch } = useQuery({
    queryKey: ["diff", pair.before, pair.after, name],
    queryFn: async ({ signal }) => {
      const valueAt = async ({ threadId, ns, checkpointId }: Spot) => {
        const integers = "bigint" as const;
        const options = { checkpointNs: ns, checkpointId, integers, channels: [name], signal };
        return (await client.checkpoints.values(threadId, options))?.channels[0]?.value;
      };
      const values = await Promise.all([valueAt(pair.before), valueAt(pair.after)]);
      return await compareInWorker(values[0], values[1]);
    },
    staleTime: Number.POSITIVE_INFINITY,
    structuralSharing: false,
  });
  return (
    <section>
      <h2>
        <Marked text={name} />
      </h2>
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      {!data && !error ? <Loading /> : null}
      {data?.kind === "same" ? (
        <p className="note">
          {isShared ? "The versions differ, the values look alike." : "The values look alike."}
        </p>
      ) : null}
      {data ? <PatchView patch={data} /> : null}
    </section>
  );
}
