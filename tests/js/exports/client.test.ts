/** `client.export` and `client.import` on the real server: a tenant becomes another one's, whole and refused where it cannot. */

import {
  Client,
  ExportFileError,
  ImportConflictError,
  type Imported,
  NotFoundError,
  SessionNotFoundError,
  SnapshotNotFoundError,
  TransportError,
} from "threadkeep";
import { ThreadkeepSaver, ThreadkeepStore } from "threadkeep/langgraph";
import { beforeEach, describe, expect, it } from "vitest";
import { chain, KINDS } from "../equivalence/graphs.js";
import { list } from "../support/checkpoints.js";
import { CountingProxy } from "../support/proxy.js";
import { ENGINES } from "../support/servers.js";
import { newTenant } from "../support/sessions.js";
import { bare } from "../support/stores.js";

const NOTES = ["ann", "notes"];
const FILES = ["ann", "filesystem"];
const SESSION = { kind: "test", key: ["-a/b", "s 🎈"] };
const LARGE = crypto.getRandomValues(new Uint8Array(65_536));
const NOUNS = ["threads", "sessions", "items", "settings", "policies", "snapshots"] as const;
/** What a tenant has after it was moved. */
const ALL = { threads: 2, sessions: 1, items: 4 };

/** A tenant: changed by `move`, and told by `shown`. */
class World {
  readonly client: Client;
  readonly store: ThreadkeepStore;
  readonly access: { url: string; apiKey: string };

  constructor(access: { url: string; apiKey: string }) {
    this.access = access;
    this.client = new Client(access);
    this.store = new ThreadkeepStore(access);
  }

  /** One turn of each thread, and new contents of all that is named `same`. */
  async move(step: string): Promise<void> {
    for (const kind of KINDS) {
      const config = { configurable: { thread_id: kind } };
      await this.#graph(kind).invoke({ log: [step] }, config);
    }
    await this.store.put(NOTES, "same", { step });
    await this.client.files.write(FILES, "/same.md", step);
    await this.client.sessions.append(SESSION, [{ data: { step } }]);
  }

  /** What never changes: an item, and a file whose bytes are no part of one. */
  async furnish(): Promise<void> {
    await this.store.put(NOTES, "still", { odd: "nul \0" });
    const large = Buffer.concat(Array.from({ length: 48 }, () => LARGE));
    await this.client.files.putContent(FILES, "/large.bin", large);
  }

  async shown(): Promise<unknown> {
    const saver = new ThreadkeepSaver(this.access);
    const threads = await Promise.all(
      KINDS.map(async (kind) => {
        const config = { configurable: { thread_id: kind } };
        const { values } = await this.#graph(kind).getState(config);
        return { values, checkpoints: await list(saver, kind) };
      }),
    );
    const items = await this.store.search(["ann"], { limit: 1_000 });
    // What comes back has other numbers.
    const loaded = await this.client.sessions.loadAll(SESSION);
    const entries = loaded?.map((entry) => entry.data);
    return { threads, items: items.map((item) => JSON.stringify(bare(item))).sort(), entries };
  }

  async isEmpty(): Promise<boolean> {
    const { threads } = await this.client.listThreads();
    const items = await this.store.search(["ann"]);
    const session = await this.client.sessions.load(SESSION);
    return threads.length === 0 && items.length === 0 && session === undefined;
  }

  #graph(kind: (typeof KINDS)[number]) {
    return chain(kind, new ThreadkeepSaver(this.access));
  }
}

/** How many are so named, of the kinds that have any. */
function counts(done: Imported, name: keyof Imported["threads"]) {
  const found = NOUNS.map((noun) => [noun, done[noun][name]] as const);
  return Object.fromEntries(found.filter(([, count]) => count > 0));
}

async function bytesOf(stream: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

describe.each(ENGINES)("on %s", (engine) => {
  let world: World;
  let other: World;
  let file: Uint8Array<ArrayBuffer>;

  beforeEach(async () => {
    world = new World(await newTenant(engine));
    other = new World(await newTenant(engine));
    for (const step of ["one", "two", "three"]) await world.move(step);
    await world.furnish();
    file = await bytesOf(await world.client.export());
  });

  it("a tenant becomes another one, in one stream from server to server", async () => {
    const would = await other.client.import(file, { dryRun: true });
    expect(would.dryRun).toBe(true);
    expect(await other.isEmpty()).toBe(true);
    const done = await other.client.import(await world.client.export());
    expect(done).toMatchObject({ dryRun: false, isSigned: false });
    expect([counts(would, "created"), counts(done, "created")]).toEqual([ALL, ALL]);
    expect(await other.shown()).toEqual(await world.shown());
    const large = await other.client.files.getContent(FILES, "/large.bin");
    expect(Buffer.from(large.subarray(-LARGE.length)).equals(LARGE)).toBe(true);
    const again = await other.client.import(new Blob([file]));
    expect([counts(again, "created"), counts(again, "unchanged")]).toEqual([{}, ALL]);
  });

  it("parts come alone, and what is not there is no part", async () => {
    const parts = [
      [{ threads: ["delta"] }, { threads: 1 }],
      [{ sessions: [SESSION] }, { sessions: 1 }],
      [{ namespaces: [FILES] }, { items: 2 }],
    ] as const;
    for (const [options, made] of parts) {
      const done = await other.client.import(await world.client.export(options));
      expect(counts(done, "created")).toEqual(made);
    }
    const { threads } = await other.client.listThreads();
    expect(threads.map((thread) => thread.threadId)).toEqual(["delta"]);
    const { client } = world;
    await expect(client.export({ threads: ["absent"] })).rejects.toThrow(NotFoundError);
    await expect(client.export({ snapshots: ["absent"] })).rejects.toThrow(SnapshotNotFoundError);
    const sessions = [{ kind: "test", key: ["absent"] }];
    await expect(client.export({ sessions })).rejects.toThrow(SessionNotFoundError);
  });

  it("nothing comes of a file that is cut off or damaged, unless it is sent once", async () => {
    const { client } = other;
    const cut = file.slice(0, -1);
    const truncated = { code: "export_truncated" };
    const damaged = file.slice();
    damaged.set([~(file[200] as number)], 200);
    for (const options of [{}, { overwrite: true }, { dryRun: true }]) {
      await expect(client.import(cut, options)).rejects.toMatchObject(truncated);
      await expect(client.import(new Blob([damaged]), options)).rejects.toThrow(ExportFileError);
    }
    expect(await other.isEmpty()).toBe(true);
    const stream = new Blob([cut]).stream();
    await expect(client.import(stream)).rejects.toMatchObject(truncated);
    // Only the last frame is missing.
    expect(await other.shown()).toEqual(await world.shown());
    await expect(client.import(new Blob([damaged]).stream())).rejects.toMatchObject({
      code: "export_damaged",
    });
    expect(counts(await client.import(file), "created")).toEqual({});
  });

  it("what is there otherwise is replaced only where that is asked for", async () => {
    const { client } = other;
    await client.import(file);
    await other.move("of its own");
    const moved = await other.shown();
    const changed = { threads: 2, sessions: 1, items: 2 };
    await expect(client.import(file)).rejects.toThrow("threads 2, sessions 1, items 2");
    const once = client.import(file, { checkFirst: false });
    await expect(once).rejects.toThrow(ImportConflictError);
    const would = await client.import(file, { dryRun: true });
    expect(counts(would, "conflicts")).toEqual(changed);
    expect(await other.shown()).toEqual(moved);
    const done = await client.import(file, { overwrite: true });
    expect([counts(done, "replaced"), counts(done, "conflicts")]).toEqual([changed, {}]);
    expect(await other.shown()).toEqual(await world.shown());
  });

  it("an export that breaks off is no file, and a lost reply of an import is asked for again", async () => {
    const proxy = await CountingProxy.before(world.access.url);
    const through = ({ access }: World) => new Client({ ...access, url: proxy.url });
    proxy.cut(file.length >> 1);
    const broken = await through(world).export();
    await expect(bytesOf(broken)).rejects.toThrow(TransportError);
    expect(proxy.cuts).toBe(1);
    proxy.lose(1);
    const done = await through(other).import(file, { checkFirst: false });
    expect(proxy.lost).toBe(1);
    // The first time all of it was imported, and nobody heard of it.
    expect([counts(done, "created"), counts(done, "unchanged")]).toEqual([{}, ALL]);
    expect(await other.shown()).toEqual(await world.shown());
    await proxy.close();
  });
});
