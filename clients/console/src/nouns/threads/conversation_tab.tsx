/** The conversation of a thread, what it asks, and beside it what else its state holds. */

import { useMemo } from "react";
import type { State, Thread } from "threadkeep";
import { conversationOf } from "../../content/conversation.js";
import { InterruptCard } from "../../content/interrupt_view.js";
import { jsonText } from "../../content/json_tree.js";
import { MessageView } from "../../content/message_view.js";
import { messageOf } from "../../content/messages.js";
import { isMessage, messagesOf } from "../../content/shapes.js";
import { Marked } from "../../parts/marked.js";
import { NewMessages } from "../../parts/new_messages.js";
import { Rows } from "../../parts/rows.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { useThreadState, versionOf } from "./queries.js";
import { SidePanel } from "./side_panel.js";
import { CalledAgent, OtherRuns, useJoinedRuns } from "./subagents.js";

const MESSAGE_PX = 120;

export function ConversationTab({ thread }: { thread: Thread }) {
  const { threadId } = thread;
  const { data, error, refetch } = useThreadState({ threadId, ns: "" }, versionOf(thread));
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  if (data === null) return <Empty title="The thread has no checkpoints yet" />;
  return (
    <div className="conversation-page">
      <div className="conversation">
        {error ? <Failure error={error} retry={() => void refetch()} /> : null}
        <Conversation state={data} />
        <Errors state={data} />
        {data.interrupts.length > 0 ? (
          <InterruptCard threadId={threadId} interrupts={data.interrupts} />
        ) : null}
      </div>
      <SidePanel thread={thread} state={data} />
    </div>
  );
}

function Conversation({ state }: { state: State }) {
  const stored = useMemo(() => withWritten(state), [state]);
  const entries = useMemo(() => conversationOf(stored), [stored]);
  const joined = useJoinedRuns("");
  if (entries.length === 0)
    return <Empty title="The state has no messages">The State view shows its channels.</Empty>;
  return (
    <>
      <Rows
        label="Messages"
        rows={entries}
        keyOf={({ key }) => key}
        heightPx={MESSAGE_PX}
        render={(entry) => (
          <MessageView
            entry={entry}
            below={(call) => <CalledAgent joined={joined} call={call} />}
          />
        )}
      />
      <OtherRuns joined={joined} />
      <NewMessages count={entries.length} />
    </>
  );
}

/** The messages of a state, and those that its tasks have written since. */
export function withWritten(state: Pick<State, "values" | "writes">): unknown[] {
  const stored = messagesOf(state.values);
  const ids = new Set(stored.map((one) => messageOf(one).id));
  const written = state.writes
    .flatMap(({ value }) => (Array.isArray(value) ? value : [value]))
    .filter((one) => isMessage(one) && !isKnown(ids, messageOf(one).id));
  return [...stored, ...written];
}

function isKnown(ids: Set<string | undefined>, id: string | undefined): boolean {
  return id !== undefined && ids.has(id);
}

function Errors({ state }: { state: State }) {
  const failed = state.tasks.filter(({ error }) => error !== undefined && error !== null);
  return failed.map(({ id, name, error }) => (
    <section key={id ?? name} className="failure" role="alert">
      <p className="failure-title">
        The task <Marked text={name} /> failed
      </p>
      <pre className="wrapped">
        <Marked text={typeof error === "string" ? error : jsonText(error)} />
      </pre>
    </section>
  ));
}
