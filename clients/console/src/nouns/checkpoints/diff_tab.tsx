/** Shows the difference of two checkpoints of a namespace. It loads only channels with different versions. */

import { useQuery } from "@tanstack/react-query";
import { useApi } from "../../api/context.js";
import type { ThreadRoute } from "../../app/route.js";
import { PatchView } from "../../content/patch_view.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { compareInWorker } from "../../worker/worker.js";
import { changedChannels, isOfGraph, type Step } from "./skeleton.js";
import { useStep } from "./state_tab.js";

export default function DiffTab({ route }: { route: ThreadRoute }) {
  const { threadId, ns = "", from, to } = route;
  const before = useStep(threadId, ns, from, "");
  const after = useStep(threadId, ns, to, "");
  if (from === undefined || to === undefined) {
    return (
      <Empty title="Two checkpoints make a diff">
        <Link to={{ page: "thread", threadId, tab: "timeline" }}>Choose them in the timeline</Link>
      </Empty>
    );
  }
  const error = before.error ?? after.error;
  if (error) return <Failure error={error} />;
  if (before.data === undefined || after.data === undefined) return <Loading />;
  if (before.data === null || after.data === null)
    return <Empty title="One of the checkpoints is not there" />;
  return <Diff threadId={threadId} ns={ns} before={before.data} after={after.data} />;
}

interface Pair {
  threadId: string;
  ns: string;
  before: Step;
  after: Step;
}

function Diff({ threadId, ns, before, after }: Pair) {
  const changed = changedChannels(after.versions, before.versions).filter(
    (name) => !isOfGraph(name),
  );
  const names = Object.keys(after.versions).filter((name) => !isOfGraph(name));
  const unchanged = names.filter((name) => !changed.includes(name));
  const at = { page: "thread", threadId, ns: ns || undefined } as const;
  return (
    <div className="diff">
      <p className="thread-facts">
        <span>
          From{" "}
          <Link to={{ ...at, tab: "state", checkpoint: before.checkpointId }}>
            step {before.step ?? "?"}
          </Link>{" "}
          to{" "}
          <Link to={{ ...at, tab: "state", checkpoint: after.checkpointId }}>
            step {after.step ?? "?"}
          </Link>
        </span>
        <Link to={{ ...at, tab: "diff", from: after.checkpointId, to: before.checkpointId }}>
          Swap
        </Link>
      </p>
      {changed.length === 0 ? <Empty title="No state channel differs" /> : null}
      {changed.map((name) => (
        <ChannelDiff
          key={name}
          name={name}
          threadId={threadId}
          ns={ns}
          before={before}
          after={after}
        />
      ))}
      {unchanged.length > 0 ? (
        <p className="note">
          Unchanged: <Marked text={unchanged.join(", ")} />
        </p>
      ) : null}
    </div>
  );
}

function ChannelDiff({ name, threadId, ns, before, after }: Pair & { name: string }) {
  const { client } = useApi();
  const { data, error, refetch } = useQuery({
    queryKey: ["diff", threadId, ns, before.checkpointId, after.checkpointId, name],
    queryFn: async ({ signal }) => {
      const valueAt = async (checkpointId: string) => {
        const options = {
          checkpointNs: ns,
          checkpointId,
          integers: "bigint" as const,
          channels: [name],
          signal,
        };
        return (await client.checkpoints.values(threadId, options))?.channels[0]?.value;
      };
      const values = await Promise.all([valueAt(before.checkpointId), valueAt(after.checkpointId)]);
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
        <p className="note">The versions differ, the values look alike.</p>
      ) : null}
      {data ? <PatchView patch={data} /> : null}
    </section>
  );
}
