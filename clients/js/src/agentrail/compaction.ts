/** Compactions: a summary in place of the oldest messages, which go to an archive. Appends go on meanwhile. */

import { HeadMovedError } from "../errors.js";
import { segmentOf } from "../wire/ids.js";
import { randomId } from "../wire/random_id.js";
import { type AgentrailCalls, entriesOf, jsonOf, sessionPath, textIn } from "./calls.js";
import type { CompactionOptions, Message } from "./contract.js";
import type { Extent, Messages } from "./messages.js";
import { archiveIdOf, type Compaction, noteOf, placeholderOf } from "./placeholder.js";
import type { SessionPlace } from "./session_ref.js";
import { COMPACT_FRACTION, splitOf, TRIGGER_TOKENS } from "./tokens.js";

/** The server puts the archive's id in its place; a summary may hold it as well, and is kept as it is. */
const MARK = "{archive_id}";
const MARK_ESCAPED = "\\u007barchive_id}";
/** Attempts of a compaction while others append to the log. */
const ATTEMPTS = 64;

export type Summarize = (messages: Message[]) => Promise<string>;

export interface CompactedSession {
  archiveId: string;
  compressedCount: number;
  totalTokens: number;
}

export class Compactions {
  readonly #calls: AgentrailCalls;
  readonly #messages: Messages;

  constructor(calls: AgentrailCalls, messages: Messages) {
    this.#calls = calls;
    this.#messages = messages;
  }

  /** Null when there was no need, or when another compaction of the same messages was faster. */
  async run(
    place: SessionPlace,
    summarize: Summarize,
    options: CompactionOptions & { force?: boolean },
  ): Promise<CompactedSession | null> {
    const {
      triggerTokens = TRIGGER_TOKENS,
      compactFraction = COMPACT_FRACTION,
      force = false,
    } = options;
    const archives = await this.#archiveIds(place);
    const log = await this.#messages.whole(place, options.preloadedMessages);
    const split = splitOf(log.messages, { triggerTokens, compactFraction, force });
    if (!split) return null;
    const { count, totalTokens } = split;
    const summary = await summarize(log.messages.slice(0, count));
    const archiveId = nextId(archives);
    const tokens = Math.round(totalTokens * compactFraction);
    const { workspaceSnapshot } = options;
    const now = new Date();
    const compaction = { archiveId, summary, count, tokens, now, workspaceSnapshot };
    const isMine = await this.#write(place, compaction, log);
    return isMine ? { archiveId, compressedCount: count, totalTokens } : null;
  }

  /** The messages of an archive, those of archives that it stands on included. */
  async archived(place: SessionPlace, archiveId: string): Promise<Message[]> {
    return await this.#expanded(place, await this.#archive(place, archiveId), new Set([archiveId]));
  }

  /** The log with its archives in place of their placeholders. */
  async whole(place: SessionPlace): Promise<Message[]> {
    const { messages } = await this.#messages.load(place);
    return await this.#expanded(place, messages, new Set());
  }

  /**
   * Archive, placeholder, tail and note in one transaction. Messages that were appended since are no reason not to: those that
   * the summary is about are still there, unless somebody else compacted them.
   */
  async #write(place: SessionPlace, compaction: Compaction, log: Extent): Promise<boolean> {
    const { archiveId, count } = compaction;
    const throughSeq = log.head - log.count + count;
    const first = log.head - log.count;
    let { head } = log;
    const idempotencyKey = randomId();
    for (let attempt = 1; ; attempt += 1) {
      const body = {
        throughSeq,
        expectedHead: head,
        compressedCount: count,
        placeholder: placeholderOf(compaction),
        notesAppend: noteOf(compaction),
        archiveId,
      };
      try {
        const key = attempt === 1 ? idempotencyKey : randomId();
        const text = jsonOf(body, "placeholder").replaceAll(MARK, MARK_ESCAPED);
        const path = sessionPath(place, "compact");
        await this.#calls.sendText(path, text, { idempotencyKey: key });
        return true;
      } catch (error) {
        if (!(error instanceof HeadMovedError) || attempt >= ATTEMPTS) throw error;
      }
      const now = await this.#messages.load(place, 1);
      const isTaken = (await this.#archiveIds(place)).includes(archiveId);
      if (isTaken || now.head - now.count !== first) return false;
      head = now.head;
    }
  }

  async #archiveIds(place: SessionPlace): Promise<string[]> {
    const answer = await this.#calls.find(sessionPath(place, "archives"));
    if (!answer) return [];
    return entriesOf<{ archiveId: string }>(answer, "archives").map((it) => {
      return typeof it === "string" ? it : textIn(it, "archiveId");
    });
  }

  async #archive(place: SessionPlace, archiveId: string): Promise<Message[]> {
    const path = sessionPath(place, "archives", segmentOf(archiveId, "archiveId"));
    const answer = await this.#calls.find(path);
    return answer ? entriesOf<Message>(answer, "messages") : [];
  }

  async #expanded(
    place: SessionPlace,
    messages: readonly Message[],
    seen: Set<string>,
  ): Promise<Message[]> {
    const expanded: Message[] = [];
    for (const message of messages) {
      const archiveId = archiveIdOf(message);
      if (archiveId === undefined) {
        expanded.push(message);
      } else if (!seen.has(archiveId)) {
        seen.add(archiveId);
        expanded.push(
          ...(await this.#expanded(place, await this.#archive(place, archiveId), seen)),
        );
      }
    }
    return expanded;
  }
}

/** One more than the last, with at least four digits: readers know an archive by them. */
function nextId(archives: readonly string[]): string {
  const last = archives.reduce((most, id) => Math.max(most, Number.parseInt(id, 10) || 0), 0);
  return String(last + 1).padStart(4, "0");
}
