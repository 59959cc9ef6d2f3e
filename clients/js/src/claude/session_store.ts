/** `ThreadkeepSessionStore`: transcripts of the Claude Agent SDK on a threadkeep server. */

import { Calls } from "../client/calls.js";
import { Serial } from "../client/serial.js";
import { Sessions } from "../client/sessions.js";
import { InvalidError } from "../errors.js";
import { Connection } from "../http/connection.js";
import type { CallOptions } from "../http/deadline.js";
import { type ConnectionOptions, settingsOf } from "../http/settings.js";
import { showAs } from "../http/shown.js";
import { randomId } from "../wire/random_id.js";
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
/** The SDK's own batches are smaller by far, but not those of an import. */
const PART_ENTRIES_MAX = 5_000;
const PART_CHARACTERS_MAX = 8 * 1024 * 1024;

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
 * I/O and there is nothing to close. Methods are bound. Failures throw the types of `threadkeep`. The SDK gives up on an append after
 * 60 s and does not repeat it: `timeoutMs` must be less.
 */
export class ThreadkeepSessionStore implements SessionStore {
  /** Only with `foldSummary`: the SDK asks whether it is there. */
  declare readonly listSessionSummaries?: (projectKey: string) => Promise<SessionSummaryEntry[]>;
  readonly #options: ThreadkeepSessionStoreOptions;
  readonly #sessions: Sessions;
  readonly #projectKey: string | undefined;
  readonly #summaries: Summaries | undefined;
  readonly #lines = new Serial();
  /** The keys of the requests that a list of entries was last sent with, and that nobody knows the end of. */
  readonly #unsure = new WeakMap<object, Sent>();

  constructor(options: ThreadkeepSessionStoreOptions = {}) {
    const { projectKey, foldSummary, ...connection } = options;
    const settings = settingsOf(connection);
    this.#options = options;
    this.#sessions = new Sessions(new Calls(new Connection(settings)));
    this.#projectKey = projectKey;
    if (foldSummary) {
      const summaries = new Summaries(this.#sessions, foldSummary);
      this.#summaries = summaries;
      this.listSessionSummaries = (asked) => summaries.list(KIND, this.#project(asked));
    }
    showAs(this, settings.url);
  }

  /** A store with other limits. Appends keep their order within each of both. */
  readonly withOptions = (options: CallOptions): ThreadkeepSessionStore => {
    return new ThreadkeepSessionStore({ ...this.#options, ...options });
  };

  /**
   * In the order of the calls, entries whose `uuid` the transcript has left out. Safe to repeat: the same list, given again
   * after a failure, is the same request, so that its entries without `uuid` are not doubled either. An empty list does
   * nothing.
   */
  readonly append = async (key: SessionKey, entries: SessionStoreEntry[]): Promise<void> => {
    const pinned = this.#pinned(key);
    if (entries.length === 0) return;
    const line = JSON.stringify([pinned.projectKey, pinned.sessionId, pinned.subpath]);
    const known = this.#unsure.get(entries);
    const sent = known?.line === line ? known : { line, keys: [] };
    this.#unsure.set(entries, sent);
    const parts = partsOf(entries);
    await this.#lines.run(line, () => this.#append(pinned, parts, sent));
    this.#unsure.delete(entries);
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

  async #append(key: Pinned, parts: SessionStoreEntry[][], { keys }: Sent): Promise<void> {
    for (const [at, part] of parts.entries()) {
      const isAgain = keys[at] !== undefined;
      try {
        await this.#send(key, part, keys, at);
      } catch (error) {
        if (!isAgain || !isMismatch(error)) throw error;
        // The list was changed since: it is another request.
        keys[at] = randomId();
        await this.#send(key, part, keys, at);
      }
    }
  }

  async #send(key: Pinned, part: SessionStoreEntry[], keys: string[], at: number): Promise<void> {
    const sent = part.map((data) => ({ id: data.uuid || undefined, data }));
    const stream = key.subpath;
    if (!this.#summaries || stream !== undefined) {
      keys[at] ??= randomId();
      await this.#sessions.append(addressOf(key), sent, { stream, idempotencyKey: keys[at] });
      return;
    }
    const { projectKey, sessionId } = key;
    const named = { projectKey, sessionId };
    await this.#summaries.append(addressOf(key), named, part, (summary) => {
      const { document, ifHead, isAnother } = summary;
      if (isAnother) keys[at] = randomId();
      keys[at] ??= randomId();
      const options = { document, ifHead, idempotencyKey: keys[at] };
      return this.#sessions.append(addressOf(key), sent, options);
    });
  }

  #pinned({ projectKey, sessionId, subpath }: SessionKey): Pinned {
    return { projectKey: this.#project(projectKey), sessionId, subpath: subpath || undefined };
  }

  #project(projectKey: string): string {
    return this.#projectKey ?? projectKey;
  }
}

/** How a list of entries was sent: to which transcript, and under which keys its parts. */
interface Sent {
  line: string;
  keys: string[];
}

interface Pinned {
  projectKey: string;
  sessionId: string;
  subpath: string | undefined;
}

function addressOf({ projectKey, sessionId }: Pinned) {
  return { kind: KIND, key: [projectKey, sessionId] };
}

/** What one request takes; one in nearly every case. The same list makes the same parts. */
function partsOf(entries: readonly SessionStoreEntry[]): SessionStoreEntry[][] {
  const parts: SessionStoreEntry[][] = [];
  let room = 0;
  for (const entry of entries) {
    const size = entries.length > 1 ? JSON.stringify(entry).length : 0;
    const part = parts.at(-1);
    if (part && part.length < PART_ENTRIES_MAX && size <= room) {
      part.push(entry);
      room -= size;
    } else {
      parts.push([entry]);
      room = PART_CHARACTERS_MAX - size;
    }
  }
  return parts;
}

function isMismatch(error: unknown): boolean {
  return error instanceof InvalidError && error.code === "idempotency_mismatch";
}
