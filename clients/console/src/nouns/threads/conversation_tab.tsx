/** The conversation of a thread, what it asks, and beside it what else its state holds. */

import type { State, Thread } from "threadkeep";
import { cutOf } from "../../content/cut.js";
import { CutView } from "../../content/cut_view.js";
import { jsonText } from "../../content/json_tree.js";
import { MessageView } from "../../content/message_view.js";
import { Marked } from "../../parts/marked.js";
import { NewMessages } from "../../parts/new_messages.js";
import { Rows } from "../../parts/rows.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { CutPlaces } from "../checkpoints/cut_places.js";
import { EarlierMessages } from "./earlier_messages.js";
import { useMessages } from "./messages.js";
import { useThreadState, versionOf } from "./queries.js";
import { Questions } from "./questions.js";
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
    <CutPlaces threadId={threadId} ns="" checkpointId={data.checkpointId}>
      <div className="conversation-page">
        <div className="conversation">
          {error ? <Failure error={error} retry={() => void refetch()} /> : null}
          <Conversation state={data} />
          <Errors state={data} />
          <Questions thread={thread} interrupts={data.interrupts} />
        </div>
        <SidePanel thread={thread} state={data} />
      </div>
    </CutPlaces>
  );
}

function Conversation({ state }: { state: State }) {
  const { entries, count, earlier } = useMessages(state);
  const joined = useJoinedRuns("");
  if (entries.length === 0)
    return <Empty title="The state has no messages">The State view shows its channels.</Empty>;
  return (
    <>
      <EarlierMessages earlier={earlier} isKept />
      <Rows
        label="Messages"
        rows={entries}
        keyOf={({ key }) => key}
        heightPx={MESSAGE_PX}
        keepsFirst
        render={(entry) => (
          <MessageView
            entry={entry}
            below={(call) => <CalledAgent joined={joined} call={call} />}
          />
        )}
      />
      <OtherRuns joined={joined} />
      <NewMessages count={count} />
    </>
  );
}

function Errors({ state }: { state: State }) {
  const failed = state.tasks.filter(({ error }) => error !== undefined && error !== null);
  return failed.map(({ id, name, error }) => {
    const cut = cutOf(error);
    return (
      <section key={id ?? name} className="failure" role="alert">
        <p className="failure-title">
          The task <Marked text={name} /> failed
        </p>
        {cut ? (
          <CutView cut={cut} what="the error" render={(head) => <ErrorText error={head} />} />
        ) : (
          <ErrorText error={error} />
        )}
      </section>
    );
  });
}

function ErrorText({ error }: { error: unknown }) {
  return (
    <pre className="wrapped">
      <Marked text={typeof error === "string" ? error : jsonText(error)} />
    </pre>
  );
}
