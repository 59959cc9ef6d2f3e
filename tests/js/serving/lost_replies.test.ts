/** A reply gets lost after the server did the work: the client's own retry must change nothing. */

import type { ThreadkeepSaver } from "threadkeep/langgraph";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { checkpoint, config, list, put } from "../support/checkpoints.js";
import { CountingProxy } from "../support/proxy.js";
import { newSaver } from "../support/savers.js";
import { ENGINES } from "../support/servers.js";

describe.each(ENGINES)("on %s, a lost reply", (engine) => {
  let proxy: CountingProxy;
  let saver: ThreadkeepSaver;

  beforeEach(async () => {
    proxy = await CountingProxy.before(inject("servers")[engine].url);
    saver = await newSaver(engine, { url: proxy.url });
  });
  afterEach(() => proxy.close());

  it("of a put leaves it there once", async () => {
    proxy.lose(2);
    await put(saver, "t", checkpoint("c1"));
    expect(proxy.lost).toBe(2);
    expect((await list(saver, "t")).map((one) => one.checkpoint.id)).toEqual(["c1"]);
  });

  it("of writes leaves them there once, in their places", async () => {
    const where = await put(saver, "t", checkpoint("c1"));
    proxy.lose(1);
    await saver.putWrites(
      where,
      [
        ["a", 1],
        ["b", 2],
      ],
      "task",
    );
    await saver.putWrites(
      where,
      [
        ["a", "another"],
        ["__interrupt__", 3],
      ],
      "task",
    );
    expect(proxy.lost).toBe(1);
    const found = await saver.getTuple(config("t"));
    expect(found?.pendingWrites).toEqual([
      ["task", "__interrupt__", 3],
      ["task", "a", 1],
      ["task", "b", 2],
    ]);
  });

  it.each<[string, (saver: ThreadkeepSaver) => Promise<unknown>, number]>([
    ["deletion", (it) => it.deleteThread("t"), 0],
    ["prune", (it) => it.prune(["t"], { strategy: "delete" }), 0],
    ["deletion of runs", (it) => it.deleteForRuns(["unknown"]), 1],
    ["copy", (it) => it.copyThread("t", "copy"), 1],
    ["read", (it) => it.getTuple(config("t")), 1],
  ])("of a %s does not fail it", async (_, act, left) => {
    await put(saver, "t", checkpoint("c1"));
    proxy.lose(1);
    await act(saver);
    expect(proxy.lost).toBe(1);
    expect(await list(saver, "t")).toHaveLength(left);
  });

  it("of every attempt is an error, and the state is what it is", async () => {
    proxy.lose(1_000);
    const impatient = await newSaver(engine, { url: proxy.url, timeoutMs: 1_000 });
    await expect(put(impatient, "t", checkpoint("c1"))).rejects.toMatchObject({
      code: "transport",
    });
    await expect(impatient.getTuple(config("t"))).rejects.toMatchObject({ code: "transport" });
    proxy.lose(0);
    expect(await list(impatient.withOptions({ timeoutMs: 30_000 }), "t")).toHaveLength(1);
  });
});
