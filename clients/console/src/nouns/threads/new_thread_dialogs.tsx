/** Makes a thread of another one: of all of it, or of its state at a checkpoint. */

import { type ReactNode, useState } from "react";
import type { Thread } from "threadkeep";
import { type Need, nameStart } from "../../api/capabilities.js";
import { useApi } from "../../api/context.js";
import { navigate } from "../../app/location.js";
import type { ThreadRoute } from "../../app/route.js";
import { counted } from "../../content/json_tree.js";
import { ActionForm, TextField } from "../../parts/action_form.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { showToast } from "../../parts/toasts.js";

interface Given {
  thread: Thread;
  close: () => void;
}

export function CopyDialog({ thread: { threadId }, close }: Given) {
  const { client } = useApi();
  return (
    <NewThread
      title="Copy the thread"
      submit="Copy"
      operation="copy_thread"
      threadId={threadId}
      ending="copy"
      run={(target) => client.threads.copy(threadId, target)}
      close={close}
    >
      <p>The copy has all checkpoints, values and writes. The thread itself stays as it is.</p>
    </NewThread>
  );
}

export function ForkDialog({ thread: { threadId }, route, close }: Given & { route: ThreadRoute }) {
  const { client } = useApi();
  const [{ checkpoint, ns }] = useState(route);
  const run = async (target: string) => {
    const checkpointId = checkpoint ?? (await newestOf(ns));
    return await client.threads.fork(threadId, target, { checkpointId, checkpointNs: ns });
  };
  const newestOf = async (checkpointNs = "") => {
    const page = await client.checkpoints.list({ threadId, checkpointNs, limit: 1 });
    const newest = page.checkpoints[0];
    if (!newest) throw new Error("The thread has no checkpoint to fork at.");
    return newest.checkpointId;
  };
  return (
    <NewThread
      title="Fork the thread"
      submit="Fork"
      operation="fork_thread"
      threadId={threadId}
      ending="fork"
      run={run}
      close={close}
    >
      <p>
        The new thread begins as this one was at{" "}
        {checkpoint === undefined ? (
          "its newest checkpoint"
        ) : (
          <>
            the checkpoint <Marked text={checkpoint} />
          </>
        )}
        , with what led to it. The thread itself stays as it is.
      </p>
      {checkpoint === undefined ? (
        <p className="note">
          Open a checkpoint of the{" "}
          <Link to={{ page: "thread", threadId, tab: "timeline", ns }}>timeline</Link> to fork
          there.
        </p>
      ) : null}
    </NewThread>
  );
}

interface NewGiven {
  title: string;
  submit: string;
  operation: "copy_thread" | "fork_thread";
  /** What the new thread is made of. */
  threadId: string;
  ending: string;
  /** How many checkpoints the new thread has. */
  run: (target: string) => Promise<number>;
  close: () => void;
  children: ReactNode;
}

function NewThread(given: NewGiven) {
  const { title, submit, operation, threadId, ending, run, close, children } = given;
  const { identity } = useApi();
  const [target, setTarget] = useState(() => {
    const start = nameStart(identity, "threads", operation === "fork_thread" ? "write" : "append");
    const name = `${threadId}-${ending}`;
    return start === undefined || name.startsWith(start) ? name : `${start}${name}`;
  });
  const needs: Need[] = [{ operation, thing: { thread: target, isNew: true } }];
  return (
    <ActionForm
      title={title}
      submit={submit}
      needs={needs}
      isReady={target !== ""}
      run={() => run(target)}
      onDone={(checkpoints) => {
        close();
        navigate({ page: "thread", threadId: target, tab: "conversation" });
        showToast({
          text: (
            <>
              <Marked text={target} /> has {counted(checkpoints, "checkpoint", "checkpoints")} of{" "}
              <Link to={{ page: "thread", threadId, tab: "conversation" }}>
                <Marked text={threadId} />
              </Link>
            </>
          ),
        });
      }}
      close={close}
    >
      {children}
      <TextField
        label="Id of the new thread"
        value={target}
        onChange={setTarget}
        note="There must be no thread with this id."
        isFirst
      />
    </ActionForm>
  );
}
