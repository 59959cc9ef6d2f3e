/** The orchestration of a session of Agentrail: its runs, its agents, and what they wait for. */

import { useQuery } from "@tanstack/react-query";
import type { Client, NamedDocument, SessionAddress, SessionStream } from "threadkeep";
import { useApi } from "../../api/context.js";
import type { SessionRoute } from "../../app/route.js";
import { JsonTree } from "../../content/json_tree_view.js";
import { PlainText } from "../../content/text_view.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { Time } from "../../parts/units.js";
import {
  type Agent,
  CHECKPOINT,
  EVENTS,
  historyOf,
  mailboxOf,
  type Orchestration,
  orchestrationOf,
  type Run,
  reachesBack,
  type Wait,
} from "./agentrail.js";
import { type EntriesAsk, entriesPage, previousAsk } from "./entries.js";

/** Events behind the last checkpoint that are read for one view. */
const EVENTS_MAX = 2_000;
const AGENTS_SHOWN = 100;
const OUTPUT_SHOWN = 400;

interface Given {
  route: SessionRoute;
  streams: readonly SessionStream[];
  documents: readonly NamedDocument[];
}

export function OrchestrationView({ route, streams, documents }: Given) {
  const { client } = useApi();
  const { kind, key } = route;
  const head = streams.find(({ stream }) => stream === EVENTS)?.head ?? 0;
  const version = documents.find(({ name }) => name === CHECKPOINT)?.version;
  const { data, error, refetch } = useQuery({
    queryKey: ["orchestration", kind, key, head, version],
    queryFn: ({ signal }) => {
      const has = { checkpoint: version !== undefined, events: head > 0 };
      return loadState(client, { kind, key }, has, signal);
    },
    staleTime: Number.POSITIVE_INFINITY,
    structuralSharing: false,
  });
  const events = { page: "session", kind, key, stream: EVENTS } as const;
  if (error) return <Failure error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  if (data === "too many") {
    return (
      <Empty title="The orchestration has too many events since its last checkpoint">
        <Link to={events}>Its events</Link>
      </Empty>
    );
  }
  return (
    <article className="item">
      <h2>Orchestration</h2>
      <Runs runs={data.runs} />
      <h3>Agents</h3>
      <Agents agents={data.agents} given={{ route, streams, documents }} />
      <Waits waits={data.waits} />
      {data.queuedInputs.length === 0 ? null : (
        <>
          <h3>Queued inputs</h3>
          <JsonTree value={data.queuedInputs} what="the queued inputs" />
        </>
      )}
      {head > 0 ? (
        <p>
          <Link to={events}>Its events</Link>
        </p>
      ) : null}
    </article>
  );
}

function Runs({ runs }: { runs: readonly Run[] }) {
  if (runs.length === 0) return <p className="note">No run has started.</p>;
  return (
    <ul className="plain-list">
      {runs.map(({ id, status, startedAt, endedAt, task }) => (
        <li key={id}>
          run <Marked text={id} /> <StatusBadge status={status} /> started <Time at={startedAt} />
          {endedAt === undefined ? null : (
            <>
              , ended <Time at={endedAt} />
            </>
          )}
          {task === undefined ? null : (
            <>
              {" for "}
              <Marked text={task.kind} />
              <JsonTree value={task.input} what="the input of the task" isOpen={false} />
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

/** The words for a state that has failed are seen at once. */
function StatusBadge({ status }: { status: string }) {
  return (
    <span className={status === "failed" ? "badge badge-error" : "badge"}>
      <Marked text={status} />
    </span>
  );
}

function Agents({ agents, given }: { agents: readonly Agent[]; given: Given }) {
  if (agents.length === 0) return <p className="note">There are none.</p>;
  const more = agents.length - AGENTS_SHOWN;
  return (
    <>
      <ul className="plain-list">
        {agents.slice(0, AGENTS_SHOWN).map((agent) => (
          <li key={agent.id}>
            <AgentLine agent={agent} given={given} />
          </li>
        ))}
      </ul>
      {more > 0 ? <p className="note">and {more.toLocaleString("en")} more</p> : null}
    </>
  );
}

function AgentLine({ agent, given }: { agent: Agent; given: Given }) {
  const { id, name: title, role, status, updatedAt, lastJob } = agent;
  const { kind, key } = given.route;
  const [history, mailbox] = [historyOf(id), mailboxOf(id)];
  const hasHistory = given.documents.some(({ name }) => name === history);
  const hasMailbox = given.streams.some(({ stream }) => stream === mailbox);
  return (
    <>
      <p className="thread-facts">
        <Marked className="thread-title" text={title} />
        <StatusBadge status={status} />
        <span>
          role <Marked text={role} />
        </span>
        <span>
          changed <Time at={updatedAt} />
        </span>
        {hasHistory ? (
          <Link to={{ page: "session", kind, key, document: history }}>History</Link>
        ) : null}
        {hasMailbox ? (
          <Link to={{ page: "session", kind, key, stream: mailbox }}>Mailbox</Link>
        ) : null}
      </p>
      {lastJob === undefined ? null : (
        <div className="agent-job">
          Its last job: <StatusBadge status={lastJob.outcome} />
          {lastJob.error === undefined ? null : (
            <PlainText text={lastJob.error} shown={OUTPUT_SHOWN} />
          )}
          {lastJob.output === undefined ? null : (
            <PlainText text={lastJob.output} shown={OUTPUT_SHOWN} />
          )}
        </div>
      )}
    </>
  );
}

function Waits({ waits }: { waits: readonly Wait[] }) {
  if (waits.length === 0) return null;
  return (
    <>
      <h3>Waits</h3>
      <ul className="plain-list">
        {waits.map(({ id, agentId, what, timeoutAt }) => (
          <li key={id}>
            <Marked text={agentId} /> waits for <Marked text={what} />
            {timeoutAt === undefined ? null : (
              <>
                , until <Time at={timeoutAt} />
              </>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}

/** The events are read from their end, to the last one that the checkpoint has. */
async function loadState(
  client: Client,
  session: SessionAddress,
  has: { checkpoint: boolean; events: boolean },
  signal: AbortSignal,
): Promise<Orchestration | "too many"> {
  const stored = has.checkpoint
    ? await client.sessions.getDocument(session, CHECKPOINT)
    : undefined;
  const checkpoint: unknown = stored === undefined ? undefined : JSON.parse(stored.content);
  const load = (options: object) =>
    client.sessions.load(session, { ...options, stream: EVENTS, signal });
  let events: unknown[] = [];
  let ask: EntriesAsk | undefined = has.events ? { at: "end" } : undefined;
  while (ask !== undefined && !reachesBack(checkpoint, events)) {
    if (events.length >= EVENTS_MAX) return "too many";
    const page = await entriesPage(load, ask);
    events = [...page.entries.map(({ data }) => data), ...events];
    ask = previousAsk(page);
  }
  return orchestrationOf(checkpoint, events);
}
