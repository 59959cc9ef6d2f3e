/** Beside a conversation: todos, files, what comes next, and facts of the thread. */

import { useState } from "react";
import type { State, Thread } from "threadkeep";
import { BytesView } from "../../content/bytes_view.js";
import { JsonTree } from "../../content/json_tree_view.js";
import { filesOf, type StateFile, type Todo, todosOf } from "../../content/shapes.js";
import { Dialog } from "../../parts/dialog.js";
import { Marked } from "../../parts/marked.js";

const FILES_SHOWN = 200;
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
      {Object.keys(thread.metadata).length > 0 ? (
        <section>
          <h2>Metadata of the thread</h2>
          <JsonTree value={thread.metadata} what="the metadata" />
        </section>
      ) : null}
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

function Todos({ todos }: { todos: Todo[] }) {
  const done = todos.filter(({ status }) => status === "completed").length;
  return (
    <section>
      <h2>
        Todos <span className="note">{`${done} of ${todos.length}`}</span>
      </h2>
      <ul className="plain-list">
        {todos.map(({ content, status }, at) => (
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

function Files({ files }: { files: StateFile[] }) {
  const [opened, setOpened] = useState<StateFile>();
  return (
    <section>
      <h2>Files in the state</h2>
      <ul className="plain-list">
        {files.slice(0, FILES_SHOWN).map((file) => (
          <li key={file.path}>
            <button type="button" className="link-button" onClick={() => setOpened(file)}>
              <Marked text={file.path} />
            </button>
          </li>
        ))}
      </ul>
      {files.length > FILES_SHOWN ? (
        <p className="note">{files.length - FILES_SHOWN} more</p>
      ) : null}
      {opened ? (
        <Dialog title="File in the state" onClose={() => setOpened(undefined)}>
          <p>
            <Marked text={opened.path} />
          </p>
          <FileContent file={opened} />
        </Dialog>
      ) : null}
    </section>
  );
}

function FileContent({ file }: { file: StateFile }) {
  if (file.text === undefined)
    return <p className="note">The content is no text. The State view shows it.</p>;
  return <BytesView bytes={new TextEncoder().encode(file.text)} name={file.path} />;
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
