/** `ThreadkeepSessionStore`: transcripts of the Claude Agent SDK on a threadkeep server. */

import { Serial } from "../client/serial.js";
import { Sessions } from "../client/sessions.js";
import { InvalidError } from "../errors.js";
import { Connection } from "../http/connection.js";
import { type ConnectionOptions, settingsOf } from "../http/settings.js";
import type {
  FoldSessionSummary,
  SessionKey,
  SessionStore,
  SessionStoreEntry,
  SessionSummaryEntry,
} from "./contract.js";
import { Summaries } from "./summaries.js";

const KIND = "claude";
const PAGE_SESSIONS = 500;
/** The SDK gives up on an append after 60 s and does not repeat it then: all attempts end before. */
const REQUEST_TIMEOUT_MS = 15_000;
const ATTEMPTS = 3;

export interface ThreadkeepSessionStoreOptions extends ConnectionOptions {
  /**
   * Used instead of the one that the SDK says, which is made from the working directory: a session can then be resumed from
   * another directory.
   */
  projectKey?: string | undefined;
  /**
   * The SDK's `foldSessionSummary`. With it the store keeps a summary of each session, and has `listSessionSummaries`, so
   * that lists cost one request. Without it the SDK loads each session that it lists.
   */
  foldSummary?: FoldSessionSummary | undefined;
}

/**
 * Sessions of the Claude Agent SDK. `url` and `apiKey` default to THREADKEEP_URL and THREADKEEP_API_KEY. Constructing does no
 * I/O and there is nothing to close. Methods are bound. Failures throw the types of `threadkeep`.
 */
export class ThreadkeepSessionStore implements SessionStore {
  /** Only with `foldSummary`: the SDK asks whether it is there. */
  declare readonly listSessionSummaries?: (projectKey: string) => Promise<SessionSummaryEntry[]>;
  readonly #sessions: Sessions;
  readonly #projectKey: string | undefined;
  readonly #summaries: Summaries | undefined;
  readonly #lines = new Serial();
  /** The key of the request that a list of entries was last sent with, and that nobody knows the end of. */
  readonly #unsure = new WeakMap<object, { line: string; idempotencyKey: string }>();

  constructor(options: ThreadkeepSessionStoreOptions = {}) {
    const { projectKey, foldSummary, ...connection } = options;
    const defaults = { requestTimeoutMs: REQUEST_TIMEOUT_MS, attempts: ATTEMPTS };
    this.#sessions = new Sessions(new Connection(settingsOf({ ...defaults, ...connection })));
    this.#projectKey = projectKey;
    if (foldSummary) {
      const summaries = new Summaries(this.#sessions, foldSummary);
      this.#summaries = summaries;
      this.listSessionSummaries = (asked) => summaries.list(KIND, this.#project(asked));
    }
  }

  /**
   * In the order of the calls, entries whose `uuid` the transcript has left out. Safe to repeat: the same list, given again
   * after a failure, is the same request, so that its entries without `uuid` are not doubled either. An empty list does
   * nothing.
   */
  readonly append = async (key: SessionKey, entries: SessionStoreEntry[]): Promise<void> => {
    const pinned = this.#pinned(key);
    if (entries.length === 0) return;
    const line = JSON.stringify([pinned.projectKey, pinned.sessionId, pinned.subpath]);
    await this.#lines.run(line, () => this.#append(pinned, entries, line));
  };

  /** Null for a transcript that was never written. */
  readonly load = async (key: SessionKey): Promise<SessionStoreEntry[] | null> => {
    const pinned = this.#pinned(key);
    const entries = await this.#sessions.loadAll(addressOf(pinned), pinned.subpath);
    return entries ? entries.map(({ data }) => data as SessionStoreEntry) : null;
  };

  /** Sessions with a main transcript. */
  readonly listSessions = async (
    projectKey: string,
  ): Promise<{ sessionId: string; mtime: number }[]> => {
    const found: { sessionId: string; mtime: number }[] = [];
    const keyPrefix = [this.#project(projectKey)];
    let cursor: string | undefined;
    do {
      const options = { keyPrefix, stream: "", limit: PAGE_SESSIONS, cursor };
      const page = await this.#sessions.list(KIND, options);
      for (const { key, updatedAtMs } of page.sessions) {
        found.push({ sessionId: key[1] ?? "", mtime: updatedAtMs });
      }
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return found;
  };

  /** The transcript of a subpath alone, or without one the session with all of them. No error when there is none. */
  readonly delete = async (key: SessionKey): Promise<void> => {
    const pinned = this.#pinned(key);
    await this.#sessions.delete(addressOf(pinned), pinned.subpath);
  };

  /** What is below the main transcript. */
  readonly listSubkeys = async (key: {
    projectKey: string;
    sessionId: string;
  }): Promise<string[]> => {
    const found = await this.#sessions.streams(addressOf(this.#pinned(key)));
    return found.map(({ stream }) => stream).filter((stream) => stream !== "");
  };

  async #append(key: Pinned, entries: SessionStoreEntry[], line: string): Promise<void> {
    const unsure = this.#unsure.get(entries);
    const known = unsure?.line === line ? unsure.idempotencyKey : undefined;
    try {
      await this.#send(key, entries, known ?? crypto.randomUUID());
    } catch (error) {
      // The list was changed since: it is another request.
      if (known === undefined || !isMismatch(error)) throw error;
      await this.#send(key, entries, crypto.randomUUID());
    }
  }

  async #send(key: Pinned, entries: SessionStoreEntry[], idempotencyKey: string): Promise<void> {
    const line = JSON.stringify([key.projectKey, key.sessionId, key.subpath]);
    const sent = entries.map((data) => ({ id: data.uuid || undefined, data }));
    const options = { stream: key.subpath, idempotencyKey };
    this.#unsure.set(entries, { line, idempotencyKey });
    if (this.#summaries && key.subpath === undefined) {
      const { projectKey, sessionId } = key;
      const named = { projectKey, sessionId };
      await this.#summaries.append(addressOf(key), named, entries, (summary) => {
        const { document, ifHead } = summary;
        if (summary.isAnother) options.idempotencyKey = crypto.randomUUID();
        this.#unsure.set(entries, { line, idempotencyKey: options.idempotencyKey });
        return this.#sessions.append(addressOf(key), sent, { ...options, document, ifHead });
      });
    } else {
      await this.#sessions.append(addressOf(key), sent, options);
    }
    this.#unsure.delete(entries);
  }

  #pinned({ projectKey, sessionId, subpath }: SessionKey): Pinned {
    return { projectKey: this.#project(projectKey), sessionId, subpath: subpath || undefined };
  }

  #project(projectKey: string): string {
    return this.#projectKey ?? projectKey;
  }
}

export interface Pinned {
  projectKey: string;
  sessionId: string;
  subpath: string | undefined;
}

function addressOf({ projectKey, sessionId }: Pinned) {
  return { kind: KIND, key: [projectKey, sessionId] };
}

function isMismatch(error: unknown): boolean {
  return error instanceof InvalidError && error.code === "idempotency_mismatch";
}
