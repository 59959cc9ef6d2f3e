/** One message: who says it, its parts, and the calls of tools with their results under them. */

import { Bot, Cog, User, Wrench } from "lucide-react";
import type { ReactNode } from "react";
import { Guard } from "../parts/guard.js";
import { Marked } from "../parts/marked.js";
import type { Call, Entry } from "./conversation.js";
import type { Cut } from "./cut.js";
import { CutView } from "./cut_view.js";
import { bytesOfBase64, imageTypeOf } from "./images.js";
import { JsonTree } from "./json_tree_view.js";
import { base64Of, type Message, type Part, type Role } from "./messages.js";
import { Picture } from "./picture.js";
import { PlainText, TextView } from "./text_view.js";

const TITLES: Record<Role, string> = {
  human: "Human",
  ai: "Agent",
  tool: "Tool",
  system: "System",
  other: "Message",
};
const ICONS = { human: User, ai: Bot, tool: Wrench, system: Cog, other: Cog };
const RESULT_SHOWN = 2_000;

interface Given {
  entry: Entry;
  /** What stands under a call: the conversation of the agent that it called. */
  below: (call: Call) => ReactNode;
}

export function MessageView({ entry, below }: Given) {
  const { message, calls } = entry;
  const Icon = ICONS[message.role];
  return (
    <article className={`message message-${message.role}`} data-message={message.id}>
      <header className="message-head">
        <Icon aria-hidden />
        <span className="message-role">{TITLES[message.role]}</span>
        {message.name ? <Marked className="message-name" text={message.name} /> : null}
        {message.role === "other" ? <Marked text={message.kind} /> : null}
        {message.isError ? <span className="badge badge-error">error</span> : null}
        <UsageText message={message} />
      </header>
      <Guarded message={message}>
        <Parts message={message} />
      </Guarded>
      {calls.map((call, at) => (
        <CallView key={call.id ?? `call ${at}`} call={call}>
          {below(call)}
        </CallView>
      ))}
    </article>
  );
}

/** A message that cannot be shown does not take the others with it. */
function Guarded({ message, children }: { message: Message; children: ReactNode }) {
  return (
    <Guard instead={() => <JsonTree value={message.raw} what="the message" isOpen={false} />}>
      {children}
    </Guard>
  );
}

function UsageText({ message: { usage } }: { message: Message }) {
  if (!usage) return null;
  return (
    <span className="message-usage" title="Tokens of the model">
      {usage.input.toLocaleString("en")} in, {usage.output.toLocaleString("en")} out
    </span>
  );
}

function Parts({ message }: { message: Message }) {
  const isPlain = message.role === "tool" || message.role === "system";
  return message.parts.map((part, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of a stored message do not move
    <PartView key={at} part={part} isPlain={isPlain} />
  ));
}

function PartView({ part, isPlain }: { part: Part; isPlain: boolean }) {
  switch (part.kind) {
    case "text":
      return <LongText part={part} render={(text) => <TextView text={text} isPlain={isPlain} />} />;
    case "reasoning":
      return (
        <details className="reasoning">
          <summary>Reasoning</summary>
          <LongText part={part} render={(text) => <PlainText text={text} />} />
        </details>
      );
    case "image":
      return part.cut ? <CutPicture cut={part.cut} /> : <ImagePart base64={part.base64} />;
    case "address":
      return (
        <p className="image-placeholder">
          image of another server, not loaded: <Marked text={part.address} />
        </p>
      );
    case "json":
      return <JsonTree value={part.value} what="this part" isOpen={false} />;
  }
}

interface LongTextGiven {
  part: { text: string; cut?: Cut | undefined };
  render: (text: string) => ReactNode;
}

/** A text of which only the beginning may be here. */
function LongText({ part, render }: LongTextGiven) {
  if (!part.cut) return render(part.text);
  return <CutView cut={part.cut} what="the text" render={(value) => render(String(value))} />;
}

/** A picture comes when it is asked for. */
function CutPicture({ cut }: { cut: Cut }) {
  return (
    <CutView
      cut={cut}
      what="the picture"
      render={(value, isWhole) =>
        isWhole ? (
          <ImagePart base64={base64Of(String(value)) ?? String(value)} />
        ) : (
          <p className="image-placeholder">a picture</p>
        )
      }
    />
  );
}

function ImagePart({ base64 }: { base64: string }) {
  const bytes = bytesOfBase64(base64);
  const type = bytes && imageTypeOf(bytes);
  if (!bytes || !type) return <p className="image-placeholder">a picture that cannot be shown</p>;
  return <Picture bytes={bytes} type={type} text="Picture of the message" />;
}

function CallView({ call, children }: { call: Call; children: ReactNode }) {
  const { result } = call;
  const state = result ? (result.isError ? "failed" : "done") : "no result yet";
  return (
    <section className="call" aria-label={`Call of the tool ${call.name}`}>
      <header className="call-head">
        <Wrench aria-hidden />
        <Marked className="call-name" text={call.name} />
        <span className={`badge ${result?.isError ? "badge-error" : ""}`}>{state}</span>
      </header>
      {call.error === undefined ? null : (
        <p className="failure-line">
          <Marked text={call.error} />
        </p>
      )}
      <JsonTree value={call.args} what="the arguments" />
      {children}
      {result ? <ResultView message={result} /> : null}
    </section>
  );
}

function ResultView({ message }: { message: Message }) {
  return (
    <div className={`call-result ${message.isError ? "call-failed" : ""}`}>
      <p className="call-label">Result</p>
      <Guarded message={message}>
        {message.parts.map((part, at) =>
          part.kind === "text" ? (
            <LongText
              // biome-ignore lint/suspicious/noArrayIndexKey: parts of a stored message do not move
              key={at}
              part={part}
              render={(text) => <PlainText text={text} shown={RESULT_SHOWN} />}
            />
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: parts of a stored message do not move
            <PartView key={at} part={part} isPlain />
          ),
        )}
      </Guarded>
    </div>
  );
}
