/** Sessions of a kind: logs and documents of agents that are not LangGraph. */

import { type FormEvent, useId, useRef, useState } from "react";
import type { Session, SessionKind } from "threadkeep";
import { mayList } from "../../api/capabilities.js";
import { useApi } from "../../api/context.js";
import { grantedSessionNames } from "../../api/grants.js";
import { methodText, pythonMethodText, type Sampled, samplesOfAll } from "../../api/snippets.js";
import { useShortcut } from "../../app/keyboard.js";
import { navigate } from "../../app/location.js";
import type { SessionsRoute } from "../../app/route.js";
import { ShowAsCode } from "../../parts/code.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Rows, useLoadMore } from "../../parts/rows.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { Kinds } from "./kinds.js";
import { PAGE_KINDS, type SessionsFilter, useKinds, useSessions } from "./queries.js";
import { SessionFacts } from "./session_facts.js";
import { keyOfText, keyText, sessionOfGrant } from "./session_key.js";

/** Those that the packages write. */
const KINDS = ["claude", "agentrail", "computeragent"] as const;
const ROW_PX = 64;

export default function SessionsPage({ route }: { route: SessionsRoute }) {
  const { identity } = useApi();
  const mayListAny = mayList(identity, "sessions");
  const query = useKinds();
  const kinds = query.data?.pages.flatMap((page) => page.kinds) ?? [];
  const [granted] = grantedSessionNames(identity).map((name) => name.split(":")[0]);
  const kind = route.kind ?? granted ?? firstOf(kinds);
  const { prefix: keyPrefix, user } = route;
  const filter: SessionsFilter = { kind, keyPrefix, user };
  return (
    <>
      <header className="page-head">
        <h1>Sessions</h1>
        <ShowAsCode samples={samplesOfAll([listSample(filter), KINDS_SAMPLE])} />
      </header>
      {mayListAny ? <Kinds query={query} chosen={kind} /> : null}
      <FilterForm key={JSON.stringify(filter)} filter={filter} kinds={kinds} />
      {mayListAny ? (
        // Which kind is shown first is known with the kinds.
        route.kind === undefined && query.isPending ? null : (
          <FoundSessions filter={filter} />
        )
      ) : (
        <GrantedSessions />
      )}
    </>
  );
}

/** The kind that is shown where the address names none. */
function firstOf(kinds: readonly SessionKind[]): string {
  const [usual] = KINDS;
  return kinds.find(({ kind }) => kind === usual)?.kind ?? kinds[0]?.kind ?? usual;
}

const KINDS_SAMPLE: Sampled = {
  call: { method: "POST", path: "/v1/sessions/kinds", body: { limit: PAGE_KINDS } },
  typescript: methodText("sessions.kinds", { limit: PAGE_KINDS }),
  python: pythonMethodText("sessions.kinds", [], { limit: PAGE_KINDS }),
};

function listSample({ kind, keyPrefix, user }: SessionsFilter): Sampled {
  const named = { key_prefix: keyPrefix, user, limit: 50 };
  return {
    call: { method: "POST", path: "/v1/sessions/list", body: { kind, ...named } },
    typescript: methodText("sessions.list", kind, { keyPrefix, user, limit: 50 }),
    python: pythonMethodText("sessions.list", [kind], named),
  };
}

interface FormGiven {
  filter: SessionsFilter;
  /** Offered while a kind is typed, beside those of the packages. */
  kinds: readonly SessionKind[];
}

function FilterForm({ filter, kinds }: FormGiven) {
  const [kind, setKind] = useState(filter.kind);
  const [prefix, setPrefix] = useState(keyText(filter.keyPrefix ?? []));
  const [user, setUser] = useState(filter.user ?? "");
  const field = useRef<HTMLInputElement>(null);
  const ids = useId();
  useShortcut("/", () => field.current?.focus());
  const submit = (event: FormEvent) => {
    event.preventDefault();
    navigate({
      page: "sessions",
      kind: kind.trim(),
      prefix: prefix === "" ? undefined : keyOfText(prefix),
      user: user || undefined,
    });
  };
  return (
    <search>
      <form className="filters" onSubmit={submit}>
        <label htmlFor={`${ids}-kind`}>Kind</label>
        <input
          id={`${ids}-kind`}
          list={`${ids}-kinds`}
          required
          pattern="[a-z0-9_\-]{1,64}"
          title="a-z, 0-9, _ and -"
          value={kind}
          onChange={({ target }) => setKind(target.value)}
        />
        <datalist id={`${ids}-kinds`}>
          {[...new Set([...kinds.map((one) => one.kind), ...KINDS])].map((one) => (
            <option key={one} value={one} />
          ))}
        </datalist>
        <input
          ref={field}
          className="wide-input"
          aria-label="First parts of the key"
          placeholder="first parts of the key: part/part"
          spellCheck={false}
          value={prefix}
          onChange={({ target }) => setPrefix(target.value)}
        />
        <input
          aria-label="User"
          placeholder="user"
          spellCheck={false}
          value={user}
          onChange={({ target }) => setUser(target.value)}
        />
        <button type="submit" className="button">
          Show
        </button>
      </form>
    </search>
  );
}

function FoundSessions({ filter }: { filter: SessionsFilter }) {
  const query = useSessions(filter);
  const { data, error, refetch, isFetchingNextPage } = query;
  const loadMore = useLoadMore(query);
  const { kind } = filter;
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading />;
  const sessions = data.pages.flatMap((page) => page.sessions);
  if (sessions.length === 0) return <NoSessions filter={filter} />;
  return (
    <>
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      <Rows
        label="Sessions"
        rows={sessions}
        keyOf={({ key }) => JSON.stringify(key)}
        heightPx={ROW_PX}
        render={(session) => <SessionRow kind={kind} session={session} />}
        onOpen={({ key }) => navigate({ page: "session", kind, key })}
        onEnd={loadMore}
      />
      {isFetchingNextPage ? <Loading what="Loading more" /> : null}
    </>
  );
}

function NoSessions({ filter: { kind, keyPrefix, user } }: { filter: SessionsFilter }) {
  if (keyPrefix || user) return <Empty title="No session meets the filter" />;
  return (
    <Empty title={`There are no sessions of the kind ${kind}`}>
      Session stores of the Claude Agent SDK, Agentrail and ComputerAgent write them.
    </Empty>
  );
}

function SessionRow({ kind, session }: { kind: string; session: Session }) {
  const { key, title } = session;
  return (
    <div className="item-row">
      <Link to={{ page: "session", kind, key }} className={title ? "thread-title" : "item-key"}>
        <Marked text={title || keyText(key) || "(empty key)"} />
      </Link>
      <div className="thread-facts">
        {title ? <Marked className="thread-id" text={keyText(key)} /> : null}
        <SessionFacts session={session} />
      </div>
    </div>
  );
}

/** A token for single sessions lists none, so its grants are the list. */
function GrantedSessions() {
  const { identity } = useApi();
  const sessions = grantedSessionNames(identity).flatMap((name) => sessionOfGrant(name) ?? []);
  if (sessions.length === 0) return <Empty title="This key or token reads no session" />;
  return (
    <ul className="plain-list" aria-label="Sessions of this token">
      {sessions.map(({ kind, key }) => (
        <li key={JSON.stringify([kind, key])}>
          <Link to={{ page: "session", kind, key: [...key] }}>
            <Marked text={`${kind}: ${keyText(key)}`} />
          </Link>
        </li>
      ))}
    </ul>
  );
}
