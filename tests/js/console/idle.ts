/** Views of threads that are left alone for a minute on a server of their own, while a file does its other tests. */

import type { Page } from "playwright-core";
import { Client } from "threadkeep";
import { expect } from "vitest";
import { sleep, waitUntil } from "../support/waiting.js";
import { Stage } from "./stage.js";

const VIEWS = ["#/inbox", "#/threads", "#/threads/trip"];
const FEED = "/v1/threads/changes";
const IDLE_MS = 60_000;
/** First readings, and the one after the stream has opened, have ended. */
const SETTLING_MS = 5_000;

interface Call {
  path: string;
  atMs: number;
}

interface View {
  page: Page;
  errors: string[];
  calls: Call[];
}

export class IdleViews {
  readonly #stage: Stage;
  readonly #client: Client;
  readonly #views: View[] = [];
  #quietFromMs = 0;

  private constructor(stage: Stage) {
    this.#stage = stage;
    this.#client = new Client({ url: stage.server.url });
  }

  static async open(): Promise<IdleViews> {
    const idle = new IdleViews(await Stage.open());
    await idle.#client.threads.create({ threadId: "trip", title: "Nobody touches it" });
    for (const address of VIEWS) idle.#views.push(await idle.#open(address));
    const isFeed = ({ path }: Call) => path === FEED;
    await waitUntil(() => idle.#views.some(({ calls }) => calls.some(isFeed)), "an open stream");
    idle.#quietFromMs = performance.now() + SETTLING_MS;
    return idle;
  }

  async #open(address: string): Promise<View> {
    const calls: Call[] = [];
    const opened = await this.#stage.page(address, undefined, (page) => {
      page.on("request", (request) => {
        const { pathname: path } = new URL(request.url());
        if (path.includes("/v1/")) calls.push({ path, atMs: performance.now() });
      });
    });
    await opened.page.getByRole("heading", { level: 1 }).first().waitFor();
    return { ...opened, calls };
  }

  /** Waits for the rest of the minute: the views have asked nothing in it, and show what changes then. */
  async expectNothingAsked(): Promise<void> {
    const endMs = this.#quietFromMs + IDLE_MS;
    await sleep(Math.max(0, endMs - performance.now()));
    const asked = this.#views.flatMap(({ calls }) =>
      calls.filter(({ atMs }) => atMs >= this.#quietFromMs),
    );
    expect(asked).toEqual([]);
    await this.#client.threads.update("trip", { title: "Somebody touched it" });
    // The Inbox has no thread that waits.
    for (const { page, calls } of this.#views.slice(1)) {
      await page.getByText("Somebody touched it").first().waitFor();
      expect(calls.some(({ atMs }) => atMs >= endMs)).toBe(true);
    }
    for (const view of this.#views) await this.#stage.expectQuiet(view);
  }

  async close(): Promise<void> {
    await this.#stage.close();
  }
}
