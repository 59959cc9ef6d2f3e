/** What a thread takes: as it was sent, as it is stored, and by channel; with its retention rule and its lease. */

import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import type { ChannelStorage, Thread, ThreadStorage } from "threadkeep";
import { useApi } from "../../api/context.js";
import { counted } from "../../content/json_tree.js";
import { ActionBar } from "../../parts/action.js";
import { ActionForm } from "../../parts/action_form.js";
import { Fact } from "../../parts/facts.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { Table } from "../../parts/table.js";
import { showToast } from "../../parts/toasts.js";
import { Size, Time } from "../../parts/units.js";
import { versionOf } from "../threads/queries.js";
import { savedText } from "./saved_text.js";

export function StorageTab({ thread }: { thread: Thread }) {
  const { client } = useApi();
  const { threadId } = thread;
  const { data, error, refetch } = useQuery({
    queryKey: ["storage", threadId, versionOf(thread)],
    queryFn: async ({ signal }) => (await client.threads.getStorage(threadId, { signal })) ?? null,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <>
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      {data === undefined && !error ? <Loading /> : null}
      {data === null ? <Empty title="The thread stores nothing" /> : null}
      {data ? <Sizes storage={data} /> : null}
      {data ? <Channels channels={data.channels} /> : null}
      <Keeping thread={thread} />
      <Lease threadId={threadId} />
    </>
  );
}

function Sizes({ storage }: { storage: ThreadStorage }) {
  const { logicalBytes, storedBytes, contentBytes, shareSaved, sharedWith } = storage;
  const { checkpoints, versions, writes, chunks } = storage;
  return (
    <section>
      <h2>Size</h2>
      <dl className="facts">
        <Fact title="As sent">
          <Size bytes={logicalBytes} />
        </Fact>
        <Fact title="As stored">
          <Size bytes={storedBytes} />, {savedText(shareSaved)}
        </Fact>
        <Fact title="Values and chunks of it">
          <Size bytes={contentBytes} />
        </Fact>
        <Fact title="Shared with">
          {sharedWith === 0 ? "no other thread" : counted(sharedWith, "thread", "threads")}
        </Fact>
        <Fact title="Checkpoints">{checkpoints.toLocaleString("en")}</Fact>
        <Fact title="Values">{versions.toLocaleString("en")}</Fact>
        <Fact title="Writes">{writes.toLocaleString("en")}</Fact>
        <Fact title="Chunks">{chunks.toLocaleString("en")}</Fact>
      </dl>
      {sharedWith === 0 ? null : (
        <p className="note">
          Copies and forks share values and chunks. They stay as long as one of these threads has
          them, so to delete this one frees less than it takes.
        </p>
      )}
    </section>
  );
}

function Channels({ channels }: { channels: readonly ChannelStorage[] }) {
  const title = useId();
  if (channels.length === 0) return <p className="note">No channel has a value.</p>;
  return (
    <section>
      <h2 id={title}>By channel</h2>
      <p className="note">
        As sent. Channels are stored together, so the stored size is told for all of them only.
      </p>
      <Table labelledBy={title} heads={["Channel", "Values", "All of them", "The newest"]}>
        {channels.map(({ channel, versions, logicalBytes, newestBytes }) => (
          <tr key={channel}>
            <th scope="row">
              <Marked text={channel} />
            </th>
            <td>{versions.toLocaleString("en")}</td>
            <td>
              <Size bytes={logicalBytes} />
            </td>
            <td>
              <Size bytes={newestBytes} />
            </td>
          </tr>
        ))}
      </Table>
    </section>
  );
}

function Keeping({ thread: { threadId, ttl } }: { thread: Thread }) {
  return (
    <section>
      <h2>Retention</h2>
      {ttl === undefined ? null : (
        <p>
          It is {ttl.strategy === "delete" ? "deleted" : "pruned"} <Time at={ttl.expiresAt} />,
          unless it changes before.
        </p>
      )}
      <p>
        <Link to={{ page: "retention", thread: threadId }}>The retention rule of the thread</Link>
      </p>
    </section>
  );
}

function Lease({ threadId }: { threadId: string }) {
  const { client } = useApi();
  return (
    <section>
      <h2>Lease</h2>
      <p className="note">
        Who has the lease of a thread is the only one who writes to it. The server does not tell who
        that is, or until when.
      </p>
      <ActionBar
        label="Actions of the lease"
        actions={[
          {
            label: "Break the lease",
            needs: [{ operation: "break_lease", thing: { tenant: true } }],
            dialog: (close) => (
              <ActionForm
                title="Break the lease"
                submit="Break"
                needs={[{ operation: "break_lease", thing: { tenant: true } }]}
                isDangerous
                run={() => client.breakLease(threadId)}
                onDone={() => {
                  close();
                  showToast({ text: "Nobody has the lease of the thread now." });
                }}
                close={close}
              >
                <p>
                  The next write of whoever has the lease of <Marked text={threadId} /> is refused.
                  Where nobody has it, nothing changes. It cannot be undone.
                </p>
              </ActionForm>
            ),
          },
        ]}
      />
    </section>
  );
}
