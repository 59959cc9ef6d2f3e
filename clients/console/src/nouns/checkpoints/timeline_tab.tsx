/** The checkpoints of a thread, newest first, with lanes for forks and for graphs that were called. */

import { keepPreviousData, useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { useApi } from "../../api/context.js";
import { isLive } from "../../app/live.js";
import { navigate } from "../../app/location.js";
import type { ThreadRoute } from "../../app/route.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Rows, useLoadMore } from "../../parts/rows.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { Time } from "../../parts/units.js";
import { type Lanes, lanesOf } from "./lanes.js";
import { changedChannels, isOfGraph, keyOf, type Step, stepOf } from "./skeleton.js";

const PAGE_CHECKPOINTS = 100;
const ROW_PX = 56;
const LANE_PX = 14;
const LANES_MAX = 12;
const CHANNELS_SHOWN = 5;

interface Row {
  step: Step;
  lanes: Lanes;
  /** Absent where the parent is not shown. */
  changed: string[] | undefined;
}

export default function TimelineTab({ route, version }: { route: ThreadRoute; version: string }) {
  const { threadId, ns } = route;
  const query = useTimeline(threadId, ns, version);
  const { data, error, refetch, isFetchingNextPage } = query;
  const rows = useMemo(
    () => rowsOf(data?.pages.flatMap((page) => page.checkpoints.map(stepOf)) ?? []),
    [data],
  );
  const loadMore = useLoadMore(query);
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading />;
  const width = 1 + Math.min(LANES_MAX, Math.max(0, ...rows.map(({ lanes }) => lanes.lane)));
  return (
    <>
      {ns === undefined ? null : (
        <p>
          Only the namespace <Marked text={ns === "" ? "of the root graph" : ns} />.{" "}
          <Link to={{ page: "thread", threadId, tab: "timeline" }}>Show all</Link>
        </p>
      )}
      {rows.length === 0 ? <Empty title="There are no checkpoints" /> : null}
      <Rows
        label="Checkpoints"
        rows={rows}
        keyOf={({ step }) => step.key}
        heightPx={ROW_PX}
        render={(row) => <CheckpointRow row={row} threadId={threadId} width={width} />}
        onOpen={({ step }) => navigate(stateRoute(threadId, step))}
        onEnd={loadMore}
      />
      {isFetchingNextPage ? <Loading what="Loading more" /> : null}
    </>
  );
}

function useTimeline(threadId: string, ns: string | undefined, version: string) {
  const { client } = useApi();
  const queries = useQueryClient();
  const query = useInfiniteQuery({
    queryKey: ["timeline", threadId, ns ?? "*"],
    queryFn: ({ pageParam: cursor, signal }) =>
      client.checkpoints.list({
        threadId,
        checkpointNs: ns,
        limit: PAGE_CHECKPOINTS,
        cursor,
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    placeholderData: keepPreviousData,
  });
  const pages = query.data?.pages.length ?? 0;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version is the reason to ask again
  useEffect(() => {
    if (!isLive(pages)) return;
    void queries.invalidateQueries({ queryKey: ["timeline", threadId, ns ?? "*"] });
  }, [version]);
  return query;
}

function rowsOf(steps: readonly Step[]): Row[] {
  const byKey = new Map(steps.map((step) => [step.key, step]));
  const parentKey = ({ ns, parentId }: Step) =>
    parentId === undefined ? undefined : keyOf(ns, parentId);
  const lanes = lanesOf(steps.map((step) => ({ key: step.key, parent: parentKey(step) })));
  return steps.flatMap((step, at) => {
    const own = lanes[at];
    const parent = byKey.get(parentKey(step) ?? "");
    const before = step.parentId === undefined ? {} : parent?.versions;
    return own
      ? [{ step, lanes: own, changed: before && changedChannels(step.versions, before) }]
      : [];
  });
}

function stateRoute(threadId: string, { ns, checkpointId }: Step): ThreadRoute {
  return { page: "thread", threadId, tab: "state", ns: ns || undefined, checkpoint: checkpointId };
}

function CheckpointRow({ row, threadId, width }: { row: Row; threadId: string; width: number }) {
  const { step, lanes, changed } = row;
  const { ns, parentId, checkpointId } = step;
  const named = changed?.filter((name) => !isOfGraph(name)) ?? [];
  return (
    <div className="checkpoint-row">
      <LaneLines lanes={lanes} width={width} />
      <div className="checkpoint-main">
        <p>
          <Link to={stateRoute(threadId, step)} className="checkpoint-step">
            Step {step.step ?? "?"}
          </Link>{" "}
          <span className="badge">
            <Marked text={step.source ?? "unknown source"} />
          </span>{" "}
          {lanes.children > 1 ? <span className="badge">fork of {lanes.children}</span> : null}{" "}
          {ns === "" ? null : (
            <Link to={{ page: "thread", threadId, tab: "timeline", ns }} className="checkpoint-ns">
              <Marked text={step.agent ?? ns} />
            </Link>
          )}
        </p>
        <p className="note">
          {changed === undefined
            ? ""
            : named.length === 0
              ? "no state channel changed"
              : "changed: "}
          <Marked text={named.slice(0, CHANNELS_SHOWN).join(", ")} />
          {named.length > CHANNELS_SHOWN ? ` and ${named.length - CHANNELS_SHOWN} more` : ""}
        </p>
      </div>
      <div className="checkpoint-facts">
        <Time at={step.createdAt} />
        {parentId === undefined ? null : (
          <Link
            to={{
              page: "thread",
              threadId,
              tab: "diff",
              ns: ns || undefined,
              from: parentId,
              to: checkpointId,
            }}
          >
            Diff to its parent
          </Link>
        )}
      </div>
    </div>
  );
}

function LaneLines({ lanes, width }: { lanes: Lanes; width: number }) {
  const [height, middle] = [ROW_PX, ROW_PX / 2];
  const x = (lane: number) => LANE_PX / 2 + Math.min(lane, LANES_MAX) * LANE_PX;
  return (
    <svg className="lanes" width={width * LANE_PX} height={height} aria-hidden>
      {lanes.above.map(({ lane, isOwn }) => (
        <path
          key={lane}
          d={
            isOwn
              ? `M${x(lane)} 0 C${x(lane)} ${middle / 2} ${x(lanes.lane)} ${middle / 2} ${x(lanes.lane)} ${middle}`
              : `M${x(lane)} 0 V${height}`
          }
        />
      ))}
      {lanes.hasParent ? <path d={`M${x(lanes.lane)} ${middle} V${height}`} /> : null}
      <circle cx={x(lanes.lane)} cy={middle} r={4} />
    </svg>
  );
}
