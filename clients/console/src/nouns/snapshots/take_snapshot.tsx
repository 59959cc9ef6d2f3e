/** Takes a snapshot: of one thread, or of what a person names. */

import { useId, useState } from "react";
import type { Need, Thing } from "../../api/capabilities.js";
import { useApi } from "../../api/context.js";
import { navigate } from "../../app/location.js";
import { ActionForm, TextField } from "../../parts/action_form.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { showToast } from "../../parts/toasts.js";
import { namesOf, namespacesOf, sessionsOf } from "./named_things.js";
import { newSnapshotId } from "./safety.js";

interface Given {
  /** Of this thread alone. */
  thread?: string | undefined;
  close: () => void;
}

const DAY_SECONDS = 86_400;

export function TakeSnapshot({ thread, close }: Given) {
  const { client, identity } = useApi();
  const [snapshotId, setSnapshotId] = useState(() => newSnapshotId(identity, "snapshot") ?? "");
  const [threads, setThreads] = useState("");
  const [namespaces, setNamespaces] = useState("");
  const [sessions, setSessions] = useState("");
  const [label, setLabel] = useState("");
  const [days, setDays] = useState("");
  const wanted = {
    threads: thread === undefined ? namesOf(threads) : [thread],
    namespaces: namespacesOf(namespaces),
    sessions: sessionsOf(sessions),
  };
  const isSome = wanted.threads.length + wanted.namespaces.length + wanted.sessions.length > 0;
  const expires = /^[1-9]\d{0,4}$/.test(days) ? Number(days) * DAY_SECONDS : undefined;
  const made: Thing = { snapshot: snapshotId, isNew: true };
  const needs: Need[] = [{ operation: "take_snapshot", thing: made }];
  const run = () =>
    client.snapshots.take({
      ...wanted,
      snapshotId,
      labels: label === "" ? undefined : { note: label },
      expiresInSeconds: expires,
    });
  return (
    <ActionForm
      title="Take a snapshot"
      submit="Take"
      needs={needs}
      isReady={isSome && snapshotId !== "" && (days === "" || expires !== undefined)}
      run={run}
      onDone={({ snapshotId: taken }) => {
        close();
        if (thread === undefined) navigate({ page: "snapshot", snapshotId: taken });
        showToast({
          text: (
            <>
              Taken:{" "}
              <Link to={{ page: "snapshot", snapshotId: taken }}>
                <Marked text={taken} />
              </Link>
            </>
          ),
        });
      }}
      close={close}
    >
      {thread === undefined ? (
        <>
          <LinesField
            label="Threads"
            value={threads}
            onChange={setThreads}
            note="One id on a line."
          />
          <LinesField
            label="Namespaces"
            value={namespaces}
            onChange={setNamespaces}
            note="One on a line, labels with slashes between them: ann/notes. Everything below is in it, too."
          />
          <LinesField
            label="Sessions"
            value={sessions}
            onChange={setSessions}
            note="One on a line, the kind first: claude/project/session."
          />
        </>
      ) : (
        <p>
          It has the thread <Marked text={thread} /> with its whole history, as it is at this
          moment.
        </p>
      )}
      <TextField
        label="Id"
        value={snapshotId}
        onChange={setSnapshotId}
        isFirst={thread !== undefined}
      />
      <TextField label="Note" value={label} onChange={setLabel} note="Kept as the label `note`." />
      <TextField
        label="Days until it is deleted"
        value={days}
        onChange={setDays}
        note="Without a number it stays."
      />
    </ActionForm>
  );
}

function LinesField(given: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  note: string;
}) {
  const { label, value, onChange, note } = given;
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        rows={3}
        value={value}
        spellCheck={false}
        aria-describedby={`${id}-note`}
        onChange={({ target }) => onChange(target.value)}
      />
      <p id={`${id}-note`} className="note">
        {note}
      </p>
    </div>
  );
}
