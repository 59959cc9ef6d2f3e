/** Conversations of agents that an agent called, each under its call. */

import { keepPreviousData, useQueries, useQuery } from "@tanstack/react-query";
import { Bot } from "lucide-react";
import { createContext, type ReactNode, useContext, useRef, useState } from "react";
import { useApi } from "../../api/context.js";
import type { Call } from "../../content/conversation.js";
import { isFields } from "../../content/fields.js";
import { counted } from "../../content/json_tree.js";
import { MessageView } from "../../content/message_view.js";
import { callersOf, childrenOf, joinRuns, type Run, runsOf } from "../../content/subagents.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Failure, Loading } from "../../parts/states.js";
import { CutPlaces } from "../checkpoints/cut_places.js";
import { EarlierMessages } from "./earlier_messages.js";
import { useMessages } from "./messages.js";
import { useThreadState } from "./queries.js";

/** What names a call is short, and at the end of its list. */
const CALLS_SHOWN = { stringBytesMax: 200, itemsMax: 20, from: -20 };
/** Each calling checkpoint is a state to read, so the older ones are read when they are asked for. */
const CALLERS_AT_ONCE = 10;

interface Runs {
  threadId: string;
  version: string;
  all: readonly Run[];
}

const RunsContext = createContext<Runs>({ threadId: "", version: "", all: [] });

/** Knows the runs of a thread: the namespaces that its timeline tells. */
export function RunsProvider(given: { threadId: string; version: string; children: ReactNode }) {
  const { threadId, version, children } = given;
  const { client } = useApi();
  const { data } = useQuery({
    queryKey: ["runs", threadId, version],
    queryFn: async ({ signal }) => {
      const options = { checkpointNs: "*", limit: 1, signal };
      return runsOf((await client.checkpoints.timeline(threadId, options)).namespaces);
    },
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return <RunsContext value={{ threadId, version, all: data ?? [] }}>{children}</RunsContext>;
}

export interface Joined {
  /** By the id of the call. */
  byCall: ReadonlyMap<string, Run>;
  /** Runs whose call is not known. */
  others: readonly Run[];
  /** Calling checkpoints that were not read yet. */
  more: number;
  readMore: () => void;
}

/** The runs that the graph in a namespace called. */
export function useJoinedRuns(ns: string): Joined {
  const { client } = useApi();
  const { threadId, version, all } = useContext(RunsContext);
  const [count, setCount] = useState(CALLERS_AT_ONCE);
  const runs = childrenOf(all, ns);
  const callers = callersOf(runs);
  const read = callers.slice(0, count);
  const joined = useQueries({
    queries: read.map((checkpointId, at) => ({
      // What called last may still be running: its tasks write. The others have ended.
      queryKey: ["calls", threadId, ns, checkpointId, at === 0 ? version : "", runs.length],
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const state = await client.checkpoints.state(threadId, {
          checkpointNs: ns,
          checkpointId,
          integers: "bigint",
          ...CALLS_SHOWN,
          signal,
        });
        const called = runs.filter(({ caller }) => caller === checkpointId);
        return state ? [...joinRuns(state, called)] : [];
      },
      placeholderData: keepPreviousData,
      staleTime: Number.POSITIVE_INFINITY,
    })),
    combine: (results) => ({
      pairs: results.flatMap(({ data }) => data ?? []),
      isPending: results.some(({ isPending }) => isPending),
    }),
  });
  const { byCall, others } = useFound(`${threadId} ${ns}`, joined);
  const known = new Set([...byCall.values()].map((run) => run.ns));
  const isRead = ({ caller }: Run) => caller === undefined || read.includes(caller);
  if (!joined.isPending) {
    others.clear();
    for (const run of runs) if (!known.has(run.ns) && isRead(run)) others.add(run.ns);
  }
  return {
    byCall,
    others: runs.filter((run) => others.has(run.ns)),
    more: callers.length - read.length,
    readMore: () => setCount(count + CALLERS_AT_ONCE),
  };
}

/** What was found before stays while the newest step is read again: an agent that a person has opened stays open. */
function useFound(place: string, { pairs }: { pairs: readonly (readonly [string, Run])[] }) {
  const found = useRef({ place, byCall: new Map<string, Run>(), others: new Set<string>() });
  if (found.current.place !== place) {
    found.current = { place, byCall: new Map(), others: new Set() };
  }
  const { byCall, others } = found.current;
  for (const [call, run] of pairs) byCall.set(call, run);
  return { byCall, others };
}

/** What stands under a call: the agent that it called, if it called one. */
export function CalledAgent({ joined, call }: { joined: Joined; call: Call }) {
  const run = call.id === undefined ? undefined : joined.byCall.get(call.id);
  return run ? <RunView run={run} name={run.agent ?? agentIn(call.args)} /> : null;
}

function agentIn(args: unknown): string {
  const name = isFields(args) ? args["subagent_type"] : undefined;
  return typeof name === "string" ? name : "agent";
}

export function OtherRuns({ joined }: { joined: Joined }) {
  const { others, more, readMore } = joined;
  return (
    <>
      {more > 0 ? (
        <button type="button" className="button" onClick={readMore}>
          Find the agents of {counted(more, "earlier step", "earlier steps")}
        </button>
      ) : null}
      {others.length > 0 ? (
        <section aria-label="Other graphs of this thread">
          <h3>Other graphs of this thread</h3>
          {others.map((run) => (
            <RunView key={run.ns} run={run} name={run.agent ?? run.ns} />
          ))}
        </section>
      ) : null}
    </>
  );
}

function RunView({ run, name }: { run: Run; name: string }) {
  const [isOpen, setIsOpen] = useState(false);
  const { threadId } = useContext(RunsContext);
  return (
    <details className="subagent" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        <Bot aria-hidden /> Agent <Marked className="call-name" text={name} />
      </summary>
      {isOpen ? (
        <>
          <p className="note">
            <Link to={{ page: "thread", threadId, tab: "state", ns: run.ns }}>Its state</Link>{" "}
            <Link to={{ page: "thread", threadId, tab: "timeline", ns: run.ns }}>Its timeline</Link>
          </p>
          <InnerConversation ns={run.ns} />
        </>
      ) : null}
    </details>
  );
}

function InnerConversation({ ns }: { ns: string }) {
  const { threadId, version } = useContext(RunsContext);
  const { data, error, refetch } = useThreadState({ threadId, ns }, version);
  const joined = useJoinedRuns(ns);
  const { entries, earlier } = useMessages(data ?? undefined);
  if (error) return <Failure error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  if (data === null || entries.length === 0) return <p className="note">It has no messages.</p>;
  return (
    <CutPlaces threadId={threadId} ns={ns} checkpointId={data.checkpointId}>
      <div className="inner-conversation">
        <EarlierMessages earlier={earlier} />
        {entries.map((entry) => (
          <MessageView
            key={entry.key}
            entry={entry}
            below={(call) => <CalledAgent joined={joined} call={call} />}
          />
        ))}
        <OtherRuns joined={joined} />
      </div>
    </CutPlaces>
  );
}
