/** What a saver remembers of delta histories never hides what was written since, by itself or by another one. */

import type { ThreadkeepSaver } from "threadkeep/langgraph";
import { describe, expect, inject, it } from "vitest";
import { checkpoint, config, METADATA } from "../support/checkpoints.js";
import { newSaver } from "../support/savers.js";
import { newKey } from "../support/server.js";
import { ENGINES } from "../support/servers.js";

const delta = { ...METADATA, counters_since_delta_snapshot: { log: [1, 1] as [number, number] } };

/** A checkpoint whose delta channel has a version and no value. */
async function put(saver: ThreadkeepSaver, id: string, parent?: string): Promise<void> {
  const made = { ...checkpoint(id, {}), channel_versions: { log: 1 } };
  const where = config("t", parent === undefined ? {} : { checkpoint_id: parent });
  await saver.put(where, made, delta, {});
}

async function history(saver: ThreadkeepSaver, id: string): Promise<unknown[]> {
  const where = config("t", { checkpoint_id: id });
  const { log } = await saver.getDeltaChannelHistory({ config: where, channels: ["log"] });
  return log?.writes.map(([, , value]) => value) ?? [];
}

describe.each(ENGINES)("on %s, writes that arrive after a read", (engine) => {
  it("are in the next history", async () => {
    const saver = await newSaver(engine);
    await put(saver, "1");
    await saver.putWrites(config("t", { checkpoint_id: "1" }), [["log", "early"]], "a");
    await put(saver, "2", "1");
    expect(await saver.getTuple(config("t"))).toBeDefined();
    expect(await history(saver, "2")).toEqual(["early"]);
    await saver.putWrites(config("t", { checkpoint_id: "1" }), [["log", "late"]], "b");
    expect(await history(saver, "2")).toEqual(["early", "late"]);
    await put(saver, "3", "2");
    await put(saver, "2", undefined);
    expect(await history(saver, "3")).toEqual([]);
  });

  it("of another saver are seen with the next read of the checkpoint", async () => {
    const apiKey = await newKey(inject("servers")[engine]);
    const [one, other] = [await newSaver(engine, { apiKey }), await newSaver(engine, { apiKey })];
    await put(one, "1");
    await put(one, "2", "1");
    await one.getTuple(config("t"));
    expect(await history(one, "2")).toEqual([]);
    await other.putWrites(config("t", { checkpoint_id: "1" }), [["log", "from elsewhere"]], "a");
    await one.getTuple(config("t"));
    expect(await history(one, "2")).toEqual(["from elsewhere"]);
  });
});
