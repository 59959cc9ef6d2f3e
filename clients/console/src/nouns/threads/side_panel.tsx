/** Beside a conversation: todos, files, what comes next, and facts of the thread. */

import { useState } from "react";
import type { State, Thread } from "threadkeep";
import { useApi } from "../../api/context.js";
import { BytesView } from "../../content/bytes_view.js";
import { CutSourceContext, useCutSource } from "../../content/cut_source.js";
import { useWhole } from "../../content/cut_view.js";
import { counted } from "../../content/json_tree.js";
import { JsonTree } from "../../content/json_tree_view.js";
import {
  filesOf,
  fileText,
  type Shown,
  type StateFile,
  type Todo,
  todosOf,
} from "../../content/shapes.js";
import { Dialog } from "../../parts/dialog.js";
import { Marked } from "../../parts/marked.js";
import { Failure, Loading } from "../../parts/states.js";

/** A map, because a status may be called `constructor`. */
const TODO_MARKS = new Map([
  ["completed", "☑"],
  ["in_progress", "▶"],
  ["pending", "☐"],
]);

export function SidePanel({ thread, state }: { thread: Thread; state: State }) {
  const todos = todosOf(state.values);
  const files = filesOf(state.values);
  return (
    <aside className="side-panel" aria-label="State of the thread">
      {todos ? <Todos todos={todos} /> : null}
      {files ? <Files files={files} /> : null}
      <Next state={state} />
      {Object.keys(thread.metadata).length > 0 ? <Metadata thread={thread} /> : null}
      <section>
        <h2>Checkpoint</h2>
        <p className="wrapped">
          <Marked text={state.checkpointId} />
        </p>
        <JsonTree value={state.metadata} what="the metadata of the checkpoint" />
      </section>
    </aside>
  );
}

/** It is whole, and copied as it is stored. */
function Metadata({ thread: { threadId, metadata, version } }: { thread: Thread }) {
  const { client } = useApi();
  const text = async () => {
    const found = await client.threads.getMetadataText(threadId);
    if (found?.version !== version) throw new Error("the metadata has changed");
    return found.text;
  };
  return (
    <section>
      <h2>Metadata of the thread</h2>
      <CutSourceContext value={undefined}>
        <JsonTree value={metadata} what="the metadata" text={text} />
      </CutSourceContext>
    </section>
  );
}

function Todos({ todos: { entries, length } }: { todos: Shown<Todo> }) {
  const done = entries.filter(({ status }) => status === "completed").length;
  return (
    <section>
      <h2>
        Todos <span className="note">{`${done} of ${entries.length}`}</span>
      </h2>
      <Before count={length - entries.length} />
      <ul className="plain-list">
        {entries.map(({ content, status }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: todos have no other name
          <li key={at}>
            <span title={status}>{TODO_MARKS.get(status) ?? "•"}</span>{" "}
            <span className="visually-hidden">{status}: </span>
            <Marked text={content} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Entries of a long list that come before those that are shown. */
function Before({ count }: { count: number }) {
  return count > 0 ? (
    <p className="note">{counted(count, "earlier one is", "earlier ones are")} in the State view</p>
  ) : null;
}

function Files({ files: { entries, length } }: { files: Shown<StateFile> }) {
  const [opened, setOpened] = useState<StateFile>();
  return (
    <section>
      <h2>Files in the state</h2>
      <Before count={length - entries.length} />
      <ul className="plain-list">
        {entries.map((file) => (
          <li key={file.path}>
            <button type="button" className="link-button" onClick={() => setOpened(file)}>
              <Marked text={file.path} />
            </button>
          </li>
        ))}
      </ul>
      {opened ? (
        <Dialog title="File in the state" onClose={() => setOpened(undefined)}>
          <p>
            <Marked text={opened.path} />
          </p>
          {opened.pointer === undefined ? (
            <FileContent text={opened.text} path={opened.path} />
          ) : (
            <LongFile pointer={opened.pointer} path={opened.path} />
          )}
        </Dialog>
      ) : null}
    </section>
  );
}

/** A file of which the answer had the beginning only. */
function LongFile({ pointer, path }: { pointer: string; path: string }) {
  const source = useCutSource();
  const { data, error, refetch } = useWhole(source, pointer);
  if (error) return <Failure error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  if (data === null) return <p className="note">It is not in the stored checkpoint any more.</p>;
  return <FileContent text={fileText(data.value)} path={path} />;
}

function FileContent({ text, path }: { text: string | undefined; path: string }) {
  if (text === undefined)
    return <p className="note">The content is no text. The State view shows it.</p>;
  return <BytesView bytes={new TextEncoder().encode(text)} name={path} />;
}

function Next({ state }: { state: State }) {
  if (state.next.length === 0) return null;
  return (
    <section>
      <h2>Next</h2>
      <ul className="plain-list">
        {state.next.map((name, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a node may come twice
          <li key={at}>
            <Marked text={name} />
          </li>
        ))}
      </ul>
    </section>
  );
}
