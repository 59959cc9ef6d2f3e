/** The checkpoints of a thread, newest first, with lanes for forks and for graphs that were called. */

import type { TimelineNamespace, TimelineNode } from "threadkeep";
import { navigate } from "../../app/location.js";
import type { ThreadRoute } from "../../app/route.js";
import { counted } from "../../content/json_tree.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Rows, useLoadMore } from "../../parts/rows.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { Size, Time } from "../../parts/units.js";
import type { Lanes } from "./lanes.js";
import {
  forgetMark,
  isSameSpot,
  type MarkedStep,
  toggleMark,
  useMarkedStep,
} from "./marked_step.js";
import { diffRoute } from "./pair.js";
import { type TimelineRow, useTimeline } from "./timeline.js";

const ROW_PX = 56;
const LANE_PX = 14;
const LANES_MAX = 12;
const CHANNELS_SHOWN = 5;
const NAMESPACES_SHOWN = 100;

export function TimelineTab({ route, version }: { route: ThreadRoute; version: string }) {
  const { threadId, ns } = route;
  const query = useTimeline(threadId, ns, version);
  const { data, error, refetch, rows, namespaces } = query;
  const loadMore = useLoadMore(query);
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading />;
  const agents = new Map(namespaces.map(({ checkpointNs, agent }) => [checkpointNs, agent]));
  const lanes = rows.map((row) => row?.lanes.lane ?? 0);
  const width =
    1 +
    Math.min(
      LANES_MAX,
      lanes.reduce((most, lane) => Math.max(most, lane), 0),
    );
  return (
    <>
      {ns === undefined ? null : (
        <p>
          Only the namespace <Marked text={ns === "" ? "of the root graph" : ns} />.{" "}
          <Link to={{ page: "thread", threadId, tab: "timeline" }}>Show all</Link>
        </p>
      )}
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      <Graphs threadId={threadId} namespaces={namespaces} />
      <MarkNote />
      {query.hasNewer ? (
        <button type="button" className="button" onClick={query.showNewest}>
          There are newer steps. Show them
        </button>
      ) : null}
      {rows.length === 0 ? <Empty title="There are no checkpoints" /> : null}
      <Rows
        label="Checkpoints"
        rows={rows}
        heightPx={ROW_PX}
        render={(row) => (
          <StepRow
            row={row}
            threadId={threadId}
            agent={agents.get(row.node.checkpointNs)}
            width={width}
          />
        )}
        onOpen={({ node }) => navigate(stateRoute(threadId, node))}
        onMark={({ node }) => toggleMark(markOf(threadId, node))}
        onEnd={loadMore}
        onAbsent={query.loadAt}
      />
      {query.isFetchingNextPage ? <Loading what="Loading more" /> : null}
    </>
  );
}

/** The step that is marked, wherever it is. */
function MarkNote() {
  const marked = useMarkedStep();
  if (marked === undefined) return null;
  return (
    <p className="callout" role="status">
      Step {marked.step ?? "?"} of <Marked text={marked.threadId} /> is marked. Open any thread, and
      choose "Compare with the mark" at one of its steps.{" "}
      <button type="button" className="link-button" onClick={forgetMark}>
        Forget the mark
      </button>
    </p>
  );
}

function markOf(threadId: string, node: TimelineNode): MarkedStep {
  const { checkpointNs: ns, checkpointId, step } = node;
  return { threadId, ns, checkpointId, step };
}

/** The graphs of a thread that has several: each with a timeline of its own. */
function Graphs(given: { threadId: string; namespaces: readonly TimelineNamespace[] }) {
  const { threadId, namespaces } = given;
  const called = namespaces.filter(({ checkpointNs }) => checkpointNs !== "");
  if (called.length === 0) return null;
  const at = { page: "thread", threadId, tab: "timeline" } as const;
  return (
    <details>
      <summary>{counted(called.length, "graph was called", "graphs were called")}</summary>
      <ul className="plain-list">
        {called.slice(0, NAMESPACES_SHOWN).map(({ checkpointNs: ns, agent, checkpoints }) => (
          <li key={ns}>
            <Link to={{ ...at, ns }}>
              <Marked text={agent ?? ns} />
            </Link>{" "}
            <span className="note">
              {counted(checkpoints, "checkpoint", "checkpoints")}
              {agent === undefined ? null : (
                <>
                  {" in "}
                  <Marked text={ns} />
                </>
              )}
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}

function stateRoute(threadId: string, node: TimelineNode): ThreadRoute {
  const { checkpointNs, checkpointId: checkpoint } = node;
  return { page: "thread", threadId, tab: "state", ns: checkpointNs || undefined, checkpoint };
}

interface StepGiven {
  row: TimelineRow;
  threadId: string;
  agent: string | undefined;
  width: number;
}

function StepRow({ row: { node, lanes }, threadId, agent, width }: StepGiven) {
  const { checkpointNs: ns, step, source } = node;
  return (
    <div className="checkpoint-row">
      <LaneLines lanes={lanes} width={width} />
      <div className="checkpoint-main">
        <p>
          <Link to={stateRoute(threadId, node)} className="checkpoint-step">
            Step {step ?? "?"}
          </Link>{" "}
          <span className="badge">
            <Marked text={source ?? "unknown source"} />
          </span>{" "}
          {node.node === undefined ? null : <Marked className="checkpoint-node" text={node.node} />}{" "}
          {lanes.children > 1 ? <span className="badge">fork of {lanes.children}</span> : null}{" "}
          <Outcome node={node} />{" "}
          {ns === "" ? null : (
            <Link to={{ page: "thread", threadId, tab: "timeline", ns }} className="checkpoint-ns">
              <Marked text={agent ?? ns} />
            </Link>
          )}
        </p>
        <ChangedText changed={node.changed} />
      </div>
      <StepFacts node={node} threadId={threadId} />
    </div>
  );
}

/** What a person has to know first: a task failed, or asked. */
function Outcome({ node: { error, interrupts } }: { node: TimelineNode }) {
  return (
    <>
      {error ? <span className="badge badge-error">a task failed</span> : null}{" "}
      {interrupts > 0 ? (
        <span className="badge status-interrupted">
          {counted(interrupts, "question", "questions")}
        </span>
      ) : null}
    </>
  );
}

/** Absent where the parent is not stored. */
function ChangedText({ changed }: { changed: readonly string[] | undefined }) {
  if (changed === undefined) return <p className="note" />;
  const more = changed.length - CHANNELS_SHOWN;
  return (
    <p className="note">
      {changed.length === 0 ? "no state channel changed" : "changed: "}
      <Marked text={changed.slice(0, CHANNELS_SHOWN).join(", ")} />
      {more > 0 ? ` and ${more} more` : ""}
    </p>
  );
}

function StepFacts({ node, threadId }: { node: TimelineNode; threadId: string }) {
  const { checkpointNs: ns, checkpointId: to, parentCheckpointId: from, writes } = node;
  const at = { page: "thread", threadId, tab: "diff", ns: ns || undefined } as const;
  return (
    <div className="checkpoint-facts">
      <Time at={node.createdAt} />
      <span title="Without its values">
        <Size bytes={node.sizeBytes} />
        {writes === 0 ? "" : `, ${counted(writes, "write", "writes")}`}
      </span>
      <span>
        {from === undefined ? null : <Link to={{ ...at, from, to }}>Diff to its parent</Link>}{" "}
        <MarkButton step={markOf(threadId, node)} />
      </span>
    </div>
  );
}

function MarkButton({ step }: { step: MarkedStep }) {
  const marked = useMarkedStep();
  if (marked !== undefined && !isSameSpot(marked, step)) {
    return <Link to={diffRoute(marked, step)}>Compare with the mark</Link>;
  }
  return (
    <button
      type="button"
      className="link-button"
      aria-pressed={marked !== undefined}
      onClick={() => toggleMark(step)}
    >
      Mark it
    </button>
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
