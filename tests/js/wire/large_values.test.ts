/** Values of many mebibytes, which go and come in parts, come back as they were put. */

import { ThreadkeepSaver } from "threadkeep/langgraph";
import { describe, expect, inject, it } from "vitest";
import { checkpoint, config, list, put } from "../support/checkpoints.js";
import { newKey } from "../support/server.js";
import { ENGINES } from "../support/servers.js";
import { LARGE_VALUE_MIB } from "../support/settings.js";

const MIB = 1 << 20;

/** Noise, so that nothing of it is small in the end. */
function noise(size: number, seed: number): string {
  const bytes = new Uint8Array(size);
  let state = seed;
  for (let at = 0; at < size; at += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    bytes[at] = 33 + ((state >>> 24) % 90);
  }
  return Buffer.from(bytes.buffer).toString("latin1");
}

describe.each(ENGINES)("on %s", (engine) => {
  it("a value is the same for who put it, for others, and in a list", async () => {
    const place = inject("servers")[engine];
    const options = { url: place.url, apiKey: await newKey(place) };
    const saver = new ThreadkeepSaver(options);
    const large = noise(9 * MIB, 1);
    const where = await put(saver, "t", checkpoint("1", { large, small: 1 }));
    await saver.putWrites(where, [["large", large]], "task");
    for (const reader of [saver, new ThreadkeepSaver(options)]) {
      const found = await reader.getTuple(config("t"));
      expect(found?.checkpoint.channel_values["small"]).toBe(1);
      expect(found?.checkpoint.channel_values["large"] === large).toBe(true);
      expect(found?.pendingWrites?.map(([task, channel]) => [task, channel])).toEqual([
        ["task", "large"],
      ]);
      expect(found?.pendingWrites?.[0]?.[2] === large).toBe(true);
    }
    const [listed] = await list(saver, "t");
    expect(listed?.checkpoint.channel_values["large"] === large).toBe(true);
  });

  it("a value that fits into no body comes back", async () => {
    const place = inject("servers")[engine];
    const options = { url: place.url, apiKey: await newKey(place), timeoutMs: 600_000 };
    const large = noise(LARGE_VALUE_MIB * MIB, 1);
    await put(new ThreadkeepSaver(options), "t", checkpoint("1", { large }));
    const found = await new ThreadkeepSaver(options).getTuple(config("t"));
    expect(found?.checkpoint.channel_values["large"] === large).toBe(true);
  });

  it("of several threads and checkpoints each is its own", async () => {
    const place = inject("servers")[engine];
    const saver = new ThreadkeepSaver({ url: place.url, apiKey: await newKey(place) });
    const made = [1, 2, 3].map((seed) => noise(9 * MIB, seed));
    await Promise.all(made.map((large, at) => put(saver, `t${at}`, checkpoint("1", { large }))));
    for (const [at, large] of made.entries()) {
      const found = await saver.getTuple(config(`t${at}`));
      expect(found?.checkpoint.channel_values["large"] === large).toBe(true);
    }
    await saver.deleteThread("t0");
    expect(await saver.getTuple(config("t0"))).toBeUndefined();
  });
});
