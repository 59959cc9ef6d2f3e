/**
 * Views that are left alone for a minute on a server of their own, while a file does its other tests: those that follow a stream ask nothing,
 * the others seldom.
 */

import type { Page } from "playwright-core";
import { Client } from "threadkeep";
import { expect } from "vitest";
import { sleep, waitUntil } from "../support/waiting.js";
import { Stage } from "./stage.js";

const STREAMS = ["/v1/threads/changes", "/v1/store/changes"];
const NOTES = ["ann", "notes"];
const FILES = ["ann", "files"];
const CHANGED = "Somebody touched it";
const SESSION = { kind: "claude", key: ["work", "long"] };

/** Views that a stream keeps current, with what they show in the end. The Inbox has no thread that waits. */
const FOLLOWING: [address: string, shown?: string][] = [
  ["#/inbox"],
  ["#/threads", CHANGED],
  ["#/threads/trip", CHANGED],
  ["#/store/ann", "second item"],
  ["#/store/ann/notes?key=first", CHANGED],
  ["#/files/ns/ann/files", "second.md"],
  ["#/files/ns/ann/files?path=%2Ffirst.md", CHANGED],
  ["#/files", "bob"],
];
/** Views that ask from time to time, and how often at least: one that never asks would prove nothing. */
const ASKING: [address: string, least: number][] = [
  ["#/sessions", 3],
  ["#/sessions/claude/work/long", 3],
  ["#/snapshots", 3],
  ["#/audit", 3],
  ["#/usage", 0],
  ["#/retention", 3],
  ["#/health", 3],
  ["#/access", 3],
  ["#/access?show=tokens", 3],
  ["#/access?show=subjects", 0],
];
const ASKED_MAX = 30;
const IDLE_MS = 60_000;
/** First readings, and the one after the stream has opened, have ended. */
const SETTLING_MS = 5_000;

interface Call {
  path: string;
  atMs: number;
}

interface View {
  address: string;
  page: Page;
  errors: string[];
  calls: Call[];
}

export class IdleViews {
  readonly #stage: Stage;
  readonly #client: Client;
  readonly #following: View[] = [];
  readonly #asking: View[] = [];
  #quietFromMs = 0;

  private constructor(stage: Stage) {
    this.#stage = stage;
    this.#client = new Client({ url: stage.server.url });
  }

  static async open(): Promise<IdleViews> {
    const idle = new IdleViews(await Stage.open());
    await idle.#fill();
    for (const [address] of FOLLOWING) idle.#following.push(await idle.#open(address));
    for (const [address] of ASKING) idle.#asking.push(await idle.#open(address));
    const paths = () => idle.#following.flatMap(({ calls }) => calls.map(({ path }) => path));
    await waitUntil(() => STREAMS.every((stream) => paths().includes(stream)), "open streams");
    idle.#quietFromMs = performance.now() + SETTLING_MS;
    return idle;
  }

  async #fill(): Promise<void> {
    const client = this.#client;
    await client.threads.create({ threadId: "trip", title: "Nobody touches it" });
    await client.store.putSetting(NOTES, { history: 3 });
    for (const text of ["before", "now"]) await client.store.put(NOTES, "first", { text });
    await client.files.write(FILES, "/first.md", "Nobody touches it");
    const data = { type: "user", message: { role: "user", content: "Look at the sea" } };
    await client.sessions.append(SESSION, [{ data }]);
    await client.snapshots.take({ snapshotId: "lunch", namespaces: [NOTES] });
    await client.putRetentionPolicy({ keepLast: 1_000, dryRun: true });
  }

  async #open(address: string): Promise<View> {
    const calls: Call[] = [];
    const opened = await this.#stage.page(address, undefined, (page) => {
      page.on("request", (request) => {
        const { pathname: path } = new URL(request.url());
        const isOfServer = path.includes("/v1/") || ["/metrics", "/readyz"].includes(path);
        if (isOfServer) calls.push({ path, atMs: performance.now() });
      });
    });
    await opened.page.getByRole("heading", { level: 1 }).first().waitFor();
    return { ...opened, address, calls };
  }

  /** Waits for the rest of the minute: views that follow have asked nothing in it, and show what changes then; the others asked little. */
  async expectLittleAsked(): Promise<void> {
    const endMs = this.#quietFromMs + IDLE_MS;
    await sleep(Math.max(0, endMs - performance.now()));
    const askedBy = ({ calls }: View) =>
      calls.filter(({ atMs }) => atMs >= this.#quietFromMs && atMs < endMs);
    const asked = this.#following.map((view) => [view.address, askedBy(view)] as const);
    expect(asked.filter(([, calls]) => calls.length > 0)).toEqual([]);
    for (const [at, view] of this.#asking.entries()) {
      const count = askedBy(view).length;
      expect(count, view.address).toBeLessThanOrEqual(ASKED_MAX);
      expect(count, view.address).toBeGreaterThanOrEqual(ASKING[at]?.[1] ?? 0);
    }
    await this.#change();
    for (const [at, { page, calls }] of this.#following.entries()) {
      const shown = FOLLOWING[at]?.[1];
      if (shown === undefined) continue;
      await page.getByText(shown).first().waitFor();
      expect(calls.some(({ atMs }) => atMs >= endMs)).toBe(true);
    }
    for (const view of [...this.#following, ...this.#asking]) await this.#stage.expectQuiet(view);
  }

  async #change(): Promise<void> {
    await this.#client.threads.update("trip", { title: CHANGED });
    await this.#client.store.put(NOTES, "first", { text: CHANGED });
    await this.#client.store.put(NOTES, "second item", {});
    await this.#client.store.put(["bob"], "an item", {});
    await this.#client.files.write(FILES, "/first.md", CHANGED);
    await this.#client.files.write(FILES, "/second.md", CHANGED);
  }

  async close(): Promise<void> {
    await this.#stage.close();
  }
}
