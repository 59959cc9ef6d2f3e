/** One session: its streams and its documents. */

import type { NamedDocument, Session, SessionStream } from "threadkeep";
import { useApi } from "../../api/context.js";
import { methodText, pythonMethodText, samplesOf } from "../../api/snippets.js";
import type { SessionRoute } from "../../app/route.js";
import { counted } from "../../content/json_tree.js";
import { ShowAsCode } from "../../parts/code.js";
import { CopyButton } from "../../parts/copy.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Empty, FailedPage, Failure, Loading } from "../../parts/states.js";
import { Size, Time } from "../../parts/units.js";
import { AGENTRAIL } from "./agentrail.js";
import { AgentrailLinks } from "./agentrail_links.js";
import { DocumentView } from "./document_view.js";
import { OrchestrationView } from "./orchestration_view.js";
import { useDocuments, useSessionFacts, useStreams } from "./queries.js";
import { SessionFacts } from "./session_facts.js";
import { keyText } from "./session_key.js";
import { StreamView } from "./stream_view.js";

const SAMPLE_ENTRIES = 100;

export default function SessionPage({ route }: { route: SessionRoute }) {
  const { identity } = useApi();
  const { kind, key, document: name } = route;
  const streams = useStreams(route);
  const documents = useDocuments(route);
  const mayList = identity.grants?.sessions?.some(({ id }) => !id) ?? true;
  const facts = useSessionFacts(route, mayList) ?? undefined;
  const error = streams.error ?? documents.error;
  const retry = () => {
    void streams.refetch();
    void documents.refetch();
  };
  if (!streams.data || !documents.data) {
    if (!error) return <Loading />;
    return <FailedPage name={keyText(key) || "(empty key)"} error={error} retry={retry} />;
  }
  if (streams.data.length + documents.data.length === 0 && !facts) return <Absent route={route} />;
  const stream = streamOf(route, streams.data);
  const head = streams.data.find((one) => one.stream === stream)?.head;
  return (
    <>
      <header className="page-head">
        <h1>
          <Marked text={facts?.title || keyText(key) || "(empty key)"} />
        </h1>
        <ShowAsCode samples={samples(route, stream ?? "")} />
      </header>
      <Facts route={route} facts={facts} />
      {error ? <Failure error={error} retry={retry} /> : null}
      <div className="two-columns">
        <nav className="namespaces" aria-label="Streams and documents">
          {kind === AGENTRAIL ? (
            <AgentrailLinks
              route={route}
              streams={streams.data}
              documents={documents.data}
              stream={stream}
            />
          ) : null}
          <Streams route={route} streams={streams.data} chosen={stream} />
          <Documents route={route} documents={documents.data} />
        </nav>
        <div className="column-main">
          {kind === AGENTRAIL && route.view === "orchestration" ? (
            <OrchestrationView route={route} streams={streams.data} documents={documents.data} />
          ) : name !== undefined ? (
            <DocumentView
              key={name}
              session={{ kind, key }}
              name={name}
              listed={documents.data.find((one) => one.name === name)}
            />
          ) : stream === undefined ? (
            <Empty title="The session has no entries" />
          ) : (
            <StreamView
              key={stream}
              route={{ ...route, stream }}
              head={head}
              askedAt={streams.dataUpdatedAt}
            />
          )}
        </div>
      </div>
    </>
  );
}

/** The stream of the address, else the main one, else that of messages, else the first. */
function streamOf({ stream }: SessionRoute, streams: readonly SessionStream[]): string | undefined {
  if (stream !== undefined) return stream;
  const named = (wanted: string) => streams.find((one) => one.stream === wanted);
  return (named("") ?? named("messages") ?? streams[0])?.stream;
}

function samples({ kind, key, document: name }: SessionRoute, stream: string) {
  if (name !== undefined) {
    return samplesOf(
      { method: "POST", path: "/v1/sessions/documents/get", body: { kind, key, name } },
      {
        typescript: methodText("sessions.getDocument", { kind, key }, name),
        python: pythonMethodText("sessions.get_document", [kind, key, name], {}),
      },
    );
  }
  const named = { stream: stream || undefined, tail: SAMPLE_ENTRIES };
  return samplesOf(
    { method: "POST", path: "/v1/sessions/load", body: { kind, key, ...named } },
    {
      typescript: methodText("sessions.load", { kind, key }, named),
      python: pythonMethodText("sessions.load", [kind, key], named),
    },
  );
}

function Absent({ route: { kind, key } }: { route: SessionRoute }) {
  return (
    <Empty title="There is no such session" isPage>
      <p>
        <Marked text={`${kind}: ${keyText(key)}`} /> was deleted, was never written, or is not
        granted to this key.
      </p>
      <Link to={{ page: "sessions", kind }}>All sessions of the kind</Link>
    </Empty>
  );
}

function Facts({ route, facts }: { route: SessionRoute; facts: Session | undefined }) {
  const { kind, key } = route;
  return (
    <p className="thread-facts">
      <span>
        kind <Marked text={kind} />
      </span>
      <Marked className="thread-id" text={keyText(key)} />
      <CopyButton text={() => JSON.stringify(key)} what="the key as JSON" />
      {facts ? <SessionFacts session={facts} /> : null}
    </p>
  );
}

function Streams(given: {
  route: SessionRoute;
  streams: readonly SessionStream[];
  chosen: string | undefined;
}) {
  const { route, streams, chosen } = given;
  const { kind, key, view } = route;
  const isEntries = view === "entries";
  const isStream = route.document === undefined && (view === undefined || isEntries);
  return (
    <section>
      <h2>{counted(streams.length, "stream", "streams")}</h2>
      <ul>
        {streams.map(({ stream, head, updatedAtMs }) => (
          <li key={stream}>
            <Link
              to={{ page: "session", kind, key, stream, view: isEntries ? view : undefined }}
              isCurrent={isStream && stream === chosen}
            >
              <Marked text={stream === "" ? "main stream" : stream} />{" "}
              <span className="note">
                up to {head}, <Time at={new Date(updatedAtMs)} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Documents(given: { route: SessionRoute; documents: readonly NamedDocument[] }) {
  const { route, documents } = given;
  const { kind, key } = route;
  if (documents.length === 0) return null;
  return (
    <section>
      <h2>{counted(documents.length, "document", "documents")}</h2>
      <ul>
        {documents.map(({ name, size }) => (
          <li key={name}>
            <Link
              to={{ page: "session", kind, key, document: name }}
              isCurrent={route.document === name}
            >
              <Marked text={name === "" ? "(empty name)" : name} />{" "}
              <span className="note">
                <Size bytes={size} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  );
}
