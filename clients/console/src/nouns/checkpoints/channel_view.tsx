/** A channel of a checkpoint: its value in part, all of it as JSON or as it is stored, and the steps that changed it. */

import { useState } from "react";
import type { RawChannel, RawValue } from "threadkeep";
import { useApi } from "../../api/context.js";
import { hexText, textOfBytes } from "../../content/images.js";
import { JsonTree } from "../../content/json_tree_view.js";
import { PlainText } from "../../content/text_view.js";
import { CopyButton, DownloadButton } from "../../parts/copy.js";
import { Marked } from "../../parts/marked.js";
import { Failure, Loading } from "../../parts/states.js";
import { Size } from "../../parts/units.js";
import { Blame } from "./blame.js";
import { type ChannelName, channelText, useChannel, useRawChannel } from "./channels.js";
import { CutPlaces } from "./cut_places.js";

export function Channel(given: ChannelName) {
  const { name, step } = given;
  const [isOpen, setIsOpen] = useState(false);
  return (
    <details className="channel" onToggle={(event) => setIsOpen(event.currentTarget.open)}>
      <summary>
        <Marked className="channel-name" text={name} />{" "}
        <span className="note">
          version <Marked text={String(step.versions[name])} />
        </span>
      </summary>
      {isOpen ? <ChannelValue {...given} /> : null}
    </details>
  );
}

function ChannelValue(given: ChannelName) {
  const { name, threadId, step } = given;
  const { client } = useApi();
  const [isRaw, setIsRaw] = useState(false);
  const { data, error, refetch } = useChannel(given);
  if (error) return <Failure error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  if (data === null) return <p className="note">The checkpoint has no value of it.</p>;
  const text = () => channelText(client, given);
  return (
    <CutPlaces threadId={threadId} ns={step.ns} checkpointId={step.checkpointId}>
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
        {isRaw ? null : <DownloadButton bytes={text} name={`${name}.json`} label="Download JSON" />}
      </p>
      {isRaw ? (
        <RawView {...given} />
      ) : (
        <JsonTree value={data.value} what="the value" text={text} />
      )}
      <Blame {...given} />
    </CutPlaces>
  );
}

function RawView(given: ChannelName) {
  const { data, error, refetch } = useRawChannel(given);
  if (error) return <Failure error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  if (data === null) return <p className="note">The checkpoint has no value of it.</p>;
  return rawParts(data).map(([title, value]) => (
    <section key={title} className="raw">
      <h3>
        {title} <span className="note">codec {value.tag}</span>
      </h3>
      <RawBytes bytes={value.data} name={`${data.channel} ${title}`} />
    </section>
  ));
}

function rawParts({ value, seed, writes }: RawChannel): [title: string, value: RawValue][] {
  return [
    ...(value ? [["value", value] as [string, RawValue]] : []),
    ...(seed ? [["seed", seed] as [string, RawValue]] : []),
    ...writes.map((write, at): [string, RawValue] => [`write ${at + 1}`, write]),
  ];
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
