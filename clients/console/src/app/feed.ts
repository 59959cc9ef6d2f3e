/** Follows a stream of changes, with one stream for all tabs of the browser that use the same credential. */

import { Listeners } from "../api/listeners.js";

/** A tab that is hidden for this long stops. */
export const HIDDEN_MS = 60_000;
/** A feed that no view needs stays open for this long: a person goes from view to view. */
export const UNUSED_MS = 5_000;
/** A tab that could not hold the stream lets others try, and tries again after this time. */
const PAUSE_MS = 15_000;
/** A server that does not answer for this long is away: views ask again, and show what is wrong. */
const AWAY_MS = 10_000;

/** Opens a stream of changes, and takes what it tells. */
export interface FeedSource<Change> {
  /** The same for tabs with the same credential at the same server. */
  name: string;
  /** Opens the stream: undefined where it begins, and where it has left out changes. */
  open(options: { signal: AbortSignal; timeoutMs: number }): AsyncIterable<Change | undefined>;
  /** Undefined: anything may have changed. */
  onChange(change: Change | undefined): void;
}

/** A message from one tab to the others. */
type Note<Change> =
  /** A new tab asks who follows. */
  | { type: "hello" }
  /** The stream is open: what changes from now on is told, so what is shown has to be read anew. */
  | { type: "ready" }
  /** The stream was open before the tab that asks came. */
  | { type: "open" }
  | { type: "change"; change: Change }
  /** The stream is closed, or cannot be opened. */
  | { type: "closed" };

/** One tab's part of a feed. While it `isOpen`, the tab hears of every change and needs not ask. */
export class Feed<Change> {
  readonly #source: FeedSource<Change>;
  readonly #listeners = new Listeners();
  #isOpen = false;
  #isStarted = false;
  #holders = 0;
  #tab: AbortController | undefined;
  #hiding: ReturnType<typeof setTimeout> | undefined;
  #unused: ReturnType<typeof setTimeout> | undefined;

  constructor(source: FeedSource<Change>) {
    this.#source = source;
  }

  readonly subscribe = this.#listeners.subscribe;

  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** Has the tab follow until the result is called. Several views may hold one feed. */
  hold(): () => void {
    this.#holders += 1;
    clearTimeout(this.#unused);
    this.#start();
    return () => {
      this.#holders -= 1;
      if (this.#holders === 0) this.#unused = setTimeout(() => this.end(), UNUSED_MS);
    };
  }

  /** Ends it at once, whoever holds it: the credential is not used any more. */
  end(): void {
    clearTimeout(this.#unused);
    clearTimeout(this.#hiding);
    document.removeEventListener("visibilitychange", this.#followVisibility);
    this.#isStarted = false;
    this.#leave();
  }

  #start(): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    document.addEventListener("visibilitychange", this.#followVisibility);
    this.#enter();
    this.#followVisibility();
  }

  readonly #followVisibility = (): void => {
    clearTimeout(this.#hiding);
    if (document.visibilityState === "hidden") {
      this.#hiding = setTimeout(() => this.#leave(), HIDDEN_MS);
    } else if (!this.#tab) {
      this.#enter();
    }
  };

  #enter(): void {
    const tab = new AbortController();
    this.#tab = tab;
    const channel = new BroadcastChannel(this.#source.name);
    tab.signal.addEventListener("abort", () => channel.close());
    let isLeader = false;
    channel.onmessage = ({ data }: MessageEvent<Note<Change>>) => {
      if (data.type !== "hello") this.#take(data);
      else if (isLeader && this.#isOpen) {
        channel.postMessage({ type: "open" } satisfies Note<Change>);
      }
    };
    channel.postMessage({ type: "hello" } satisfies Note<Change>);
    const lead = async () => {
      isLeader = true;
      await this.#lead(tab.signal, (note) => {
        if (tab.signal.aborted) return;
        channel.postMessage(note);
        this.#take(note);
      });
      isLeader = false;
    };
    void this.#leadInTurn(lead, tab.signal);
  }

  /** Whoever has the lock holds the stream; another tab gets the lock when this one leaves or fails. */
  async #leadInTurn(lead: () => Promise<void>, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await navigator.locks.request(this.#source.name, { signal }, lead);
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

  async #lead(signal: AbortSignal, tell: (note: Note<Change>) => void): Promise<void> {
    try {
      for await (const change of this.#source.open({ signal, timeoutMs: AWAY_MS })) {
        tell(change === undefined ? { type: "ready" } : { type: "change", change });
      }
    } catch {
      // The views that ask the server show what is wrong.
    }
    tell({ type: "closed" });
  }

  #take(note: Note<Change>): void {
    if (note.type === "change") {
      this.#source.onChange(note.change);
      return;
    }
    this.#set(note.type !== "closed");
    if (note.type === "ready") this.#source.onChange(undefined);
  }

  #set(isOpen: boolean): void {
    if (this.#isOpen === isOpen) return;
    this.#isOpen = isOpen;
    this.#listeners.notify();
  }
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
