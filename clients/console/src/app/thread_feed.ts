/** Follows the threads that change, with one stream for all tabs of the browser that use the same credential. */

import type { Client, ThreadChange } from "threadkeep";
import { Listeners } from "../api/listeners.js";

/** A tab that is hidden for this long stops. */
export const HIDDEN_MS = 60_000;
/** A tab that could not hold the stream lets others try, and tries again after this time. */
const PAUSE_MS = 15_000;
/** A server that does not answer for this long is away: views ask again, and show what is wrong. */
const AWAY_MS = 10_000;

/** A message from one tab to the others. */
type Note =
  /** A new tab asks who follows. */
  | { type: "hello" }
  /** The stream is open: what changes from now on is told, so what is shown has to be read anew. */
  | { type: "ready" }
  /** The stream was open before the tab that asks came. */
  | { type: "open" }
  | { type: "change"; threadId: string }
  /** The stream is closed, or cannot be opened. */
  | { type: "closed" };

export interface FeedEvents {
  /** Undefined: any thread may have changed. */
  onChange(threadId: string | undefined): void;
}

/** One tab's part of the feed. While it `isOpen`, the tab hears of every change and needs not ask. */
export class ThreadFeed {
  readonly #client: Client;
  readonly #name: string;
  readonly #events: FeedEvents;
  readonly #listeners = new Listeners();
  #isOpen = false;
  #tab: AbortController | undefined;
  #hiding: ReturnType<typeof setTimeout> | undefined;

  /** `name` is the same for tabs with the same credential at the same server. */
  constructor(client: Client, name: string, events: FeedEvents) {
    this.#client = client;
    this.#name = name;
    this.#events = events;
  }

  readonly subscribe = this.#listeners.subscribe;

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Begins. The result ends it. */
  start(): () => void {
    const onVisibility = () => this.#followVisibility();
    document.addEventListener("visibilitychange", onVisibility);
    this.#enter();
    return () => {
      document.removeEventListener("visibilitychange", onVisibility);
      clearTimeout(this.#hiding);
      this.#leave();
    };
  }

  #followVisibility(): void {
    clearTimeout(this.#hiding);
    if (document.visibilityState === "hidden") {
      this.#hiding = setTimeout(() => this.#leave(), HIDDEN_MS);
    } else if (!this.#tab) {
      this.#enter();
    }
  }

  #enter(): void {
    const tab = new AbortController();
    this.#tab = tab;
    const channel = new BroadcastChannel(this.#name);
    tab.signal.addEventListener("abort", () => channel.close());
    let isLeader = false;
    channel.onmessage = ({ data }: MessageEvent<Note>) => {
      if (data.type !== "hello") this.#take(data);
      else if (isLeader && this.#isOpen) channel.postMessage({ type: "open" } satisfies Note);
    };
    channel.postMessage({ type: "hello" } satisfies Note);
    const hold = async () => {
      isLeader = true;
      await this.#hold(tab.signal, (note) => {
        if (!tab.signal.aborted) channel.postMessage(note);
        this.#take(note);
      });
      isLeader = false;
    };
    void this.#holdInTurn(hold, tab.signal);
  }

  /** Whoever has the lock holds the stream; another tab gets the lock when this one leaves or fails. */
  async #holdInTurn(hold: () => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await navigator.locks.request(this.#name, { signal }, hold);
        await pause(signal);
      } catch {
        // The tab left before it was its turn.
        return;
      }
    }
  }

  #leave(): void {
    this.#tab?.abort();
    this.#tab = undefined;
    this.#set(false);
  }

  async #hold(signal: AbortSignal, tell: (note: Note) => void): Promise<void> {
    try {
      const changes = this.#client.threads.changes({ signal, timeoutMs: AWAY_MS });
      for await (const change of changes) tell(noteOf(change));
    } catch {
      // The views that ask the server show what is wrong.
    }
    if (!signal.aborted) tell({ type: "closed" });
  }

  #take(note: Note): void {
    if (note.type === "change") {
      this.#events.onChange(note.threadId);
      return;
    }
    this.#set(note.type !== "closed");
    if (note.type === "ready") this.#events.onChange(undefined);
  }

  #set(isOpen: boolean): void {
    if (this.#isOpen === isOpen) return;
    this.#isOpen = isOpen;
    this.#listeners.notify();
  }
}

function noteOf(change: ThreadChange): Note {
  return change.type === "change"
    ? { type: "change", threadId: change.threadId }
    : { type: "ready" };
}

async function pause(signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, PAUSE_MS);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
