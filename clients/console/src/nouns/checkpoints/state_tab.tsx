/** The state at a checkpoint: its channels, each loaded when it is opened. */

import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { RawChannel, RawValue } from "threadkeep";
import { useApi } from "../../api/context.js";
import type { ThreadRoute } from "../../app/route.js";
import { hexText, textOfBytes } from "../../content/images.js";
import { JsonTree } from "../../content/json_tree_view.js";
import { PlainText } from "../../content/text_view.js";
import { CopyButton, DownloadButton } from "../../parts/copy.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { Size, Time } from "../../parts/units.js";
import { useThreadState } from "../threads/queries.js";
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

export default function StateTab({ route, version }: Given) {
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

interface ChannelName {
  name: string;
  threadId: string;
  step: Step;
}

function Channel({ name, threadId, step }: ChannelName) {
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details className="channel" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        <Marked className="channel-name" text={name} />{" "}
        <span className="note">
          version <Marked text={String(step.versions[name])} />
        </span>
      </summary>
      {isOpen ? <ChannelValue name={name} threadId={threadId} step={step} /> : null}
    </details>
  );
}

function useChannel({ name, threadId, step }: ChannelName, raw: boolean) {
  const { client } = useApi();
  const { ns, checkpointId } = step;
  return useQuery({
    queryKey: ["channel", threadId, ns, checkpointId, name, raw],
    queryFn: async ({ signal }) => {
      const options = {
        checkpointNs: ns,
        checkpointId,
        integers: "bigint" as const,
        channels: [name],
        raw,
        signal,
      };
      return (await client.checkpoints.values(threadId, options))?.channels[0] ?? null;
    },
    staleTime: Number.POSITIVE_INFINITY,
    structuralSharing: false,
  });
}

function ChannelValue(given: ChannelName) {
  const [isRaw, setIsRaw] = useState(false);
  const { data, error, refetch } = useChannel(given, isRaw);
  if (error) return <Failure error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  if (data === null) return <p className="note">The checkpoint has no value of it.</p>;
  return (
    <>
      <p className="toolbar">
        <Size bytes={data.sizeBytes} />
        <span className="note">
          {data.isDelta ? (
            "replayed from writes"
          ) : (
            <Marked text={`codec ${data.tag ?? "unknown"}`} />
          )}
        </span>
        <button
          type="button"
          className="button"
          aria-pressed={isRaw}
          onClick={() => setIsRaw(!isRaw)}
        >
          As it is stored
        </button>
      </p>
      {isRaw && data.raw ? (
        <RawView raw={data.raw} />
      ) : (
        <JsonTree value={data.value} what="the value" />
      )}
    </>
  );
}

function RawView({ raw }: { raw: RawChannel }) {
  const parts: [string, RawValue][] = [
    ...(raw.value ? [["value", raw.value] as [string, RawValue]] : []),
    ...(raw.seed ? [["seed", raw.seed] as [string, RawValue]] : []),
    ...raw.writes.map((write, at): [string, RawValue] => [`write ${at + 1}`, write]),
  ];
  return parts.map(([title, value]) => (
    <section key={title} className="raw">
      <h3>
        {title} <span className="note">codec {value.tag}</span>
      </h3>
      <RawBytes bytes={value.data} name={`${raw.channel} ${title}`} />
    </section>
  ));
}

function RawBytes({ bytes, name }: { bytes: Uint8Array; name: string }) {
  const text = textOfBytes(bytes);
  return (
    <>
      <p className="toolbar">
        <Size bytes={bytes.byteLength} />
        {text === undefined ? null : <CopyButton text={() => text} what="the stored text" />}
        <DownloadButton bytes={() => new Uint8Array(bytes)} name={name} />
      </p>
      <PlainText text={text ?? hexText(bytes)} shown={4_096} />
    </>
  );
}

/** A state holds all values, so its writes are read when they are asked for. */
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
  const name = { threadId, ns: step.ns, checkpoint: step.checkpointId };
  const { data, error, refetch } = useThreadState(name, version, isAsked);
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
        data.writes.length === 0 ? (
          <p className="note">There are none.</p>
        ) : (
          <JsonTree value={data.writes} what="the writes" />
        )
      ) : null}
    </section>
  );
}
