/** Summaries of sessions, folded by the SDK's own function and stored in the same transaction as the entries they sum up. */

import type { Appended, SessionAddress } from "../client/session_records.js";
import type { Sessions } from "../client/sessions.js";
import { HeadMovedError, ProtocolError, VersionConflictError } from "../errors.js";
import type {
  FoldSessionSummary,
  SessionKey,
  SessionStoreEntry,
  SessionSummaryEntry,
} from "./contract.js";

const NAME = "summary";
const REMEMBERED_MAX = 1_000;
/** Whoever was faster knows the summary and may be faster again: the others wait a little, each another while. */
const ATTEMPTS = 64;
const PAUSE_MS_FIRST = 2;
const PAUSE_MS_MAX = 250;

type Data = Record<string, unknown>;

/** What was last seen of a session's summary. `ifHead`: it was made from the log itself, up to there. */
interface Known {
  version: number;
  data: Data | undefined;
  ifHead?: number;
}

/** What an append takes along. */
export interface WithSummary {
  document: { name: string; content: string; ifVersion: number };
  ifHead: number | undefined;
  /** Another body than the one before: a request of its own. */
  isAnother: boolean;
}

/** Calls for one session must come one after the other; writers elsewhere are found by the version. */
export class Summaries {
  readonly #sessions: Sessions;
  readonly #fold: FoldSessionSummary;
  readonly #known = new Map<string, Known>();

  constructor(sessions: Sessions, fold: FoldSessionSummary) {
    this.#sessions = sessions;
    this.#fold = fold;
  }

  /** Appends by `send`, again with a newer summary where somebody else was faster. */
  async append(
    session: SessionAddress,
    key: SessionKey,
    entries: SessionStoreEntry[],
    send: (summary: WithSummary) => Promise<Appended>,
  ): Promise<void> {
    const place = JSON.stringify(session.key);
    for (let attempt = 1; ; attempt += 1) {
      const known = this.#known.get(place) ?? (await this.#read(session, key));
      const { data } = this.#fold(before(known, key), key, entries);
      const content = JSON.stringify(data);
      const document = { name: NAME, content, ifVersion: known.version };
      try {
        const isAnother = attempt > 1;
        const { documentVersion } = await send({ document, ifHead: known.ifHead, isAnother });
        this.#remember(place, { version: documentVersion ?? known.version + 1, data });
        return;
      } catch (error) {
        const isBehind = error instanceof VersionConflictError || error instanceof HeadMovedError;
        if (isBehind) this.#known.delete(place);
        if (!isBehind || attempt >= ATTEMPTS) throw error;
        const pauseMs = Math.min(PAUSE_MS_MAX, PAUSE_MS_FIRST * 2 ** (attempt - 1));
        await new Promise((resolve) => setTimeout(resolve, Math.random() * pauseMs));
      }
    }
  }

  async list(kind: string, projectKey: string): Promise<SessionSummaryEntry[]> {
    const found = await this.#sessions.findDocuments(kind, NAME, { keyPrefix: [projectKey] });
    return found.map(({ key, content, updatedAtMs }) => ({
      sessionId: key[1] ?? "",
      mtime: updatedAtMs,
      data: dataIn(content),
    }));
  }

  /** The stored summary; where there is none, one of what the transcript holds. */
  async #read(session: SessionAddress, key: SessionKey): Promise<Known> {
    const found = await this.#sessions.getDocument(session, NAME);
    if (found) return { version: found.version, data: dataIn(found.content) };
    const log = await this.#sessions.loadAll(session);
    const entries = (log ?? []).map(({ data }) => data as SessionStoreEntry);
    const data = entries.length > 0 ? this.#fold(undefined, key, entries).data : undefined;
    return { version: 0, data, ifHead: log?.at(-1)?.seq ?? 0 };
  }

  #remember(place: string, known: Known): void {
    this.#known.delete(place);
    this.#known.set(place, known);
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= REMEMBERED_MAX) break;
      this.#known.delete(oldest);
    }
  }
}

function before({ data }: Known, { sessionId }: SessionKey): SessionSummaryEntry | undefined {
  // A copy: the fold may change what it is given.
  return data && { sessionId, mtime: 0, data: structuredClone(data) };
}

function dataIn(content: string): Data {
  try {
    return JSON.parse(content) as Data;
  } catch (cause) {
    throw new ProtocolError("a stored summary is not JSON", { cause });
  }
}
