/** Leases of savers: who has a thread writes it alone, and who lost it is told. */

import { Client, InvalidError, LeaseHeldError, LeaseLostError } from "threadkeep";
import { ThreadkeepSaver, type ThreadkeepSaverOptions } from "threadkeep/langgraph";
import { afterEach, beforeEach, describe, expect, inject, it, vi } from "vitest";
import { checkpoint, config, list, put } from "../support/checkpoints.js";
import { newKey } from "../support/server.js";
import { ENGINES } from "../support/servers.js";
import { sleep, waitUntil } from "../support/waiting.js";

/** Long enough for heartbeats that come late. */
const LEASE_SECONDS = 5;
/** A lease without heartbeats would be over by far. */
const LONG_MS = LEASE_SECONDS * 2_500;

afterEach(() => void vi.restoreAllMocks());

describe.each(ENGINES)("on %s, a lease", (engine) => {
  let make: (options?: ThreadkeepSaverOptions) => ThreadkeepSaver;
  let client: Client;

  beforeEach(async () => {
    const place = inject("servers")[engine];
    const where = { url: place.url, apiKey: await newKey(place) };
    make = (options = {}) => new ThreadkeepSaver({ ...where, ...options });
    client = new Client(where);
  });

  const ids = async (saver: ThreadkeepSaver) =>
    (await list(saver, "t")).map((one) => one.checkpoint.id);

  it("is taken by the first write of an exclusive saver, not by a read, and given back by closing", async () => {
    const [first, second] = [make({ exclusive: true }), make({ exclusive: true })];
    expect(await first.getTuple(config("t"))).toBeUndefined();
    await put(second, "t", checkpoint("c1"));
    await expect(put(first, "t", checkpoint("x"))).rejects.toThrow(LeaseHeldError);
    await expect(put(make(), "t", checkpoint("y"))).rejects.toThrow(LeaseHeldError);
    await put(second, "t", checkpoint("c2"));
    await second.close();
    await put(first, "t", checkpoint("c3"));
    expect(await ids(second)).toEqual(["c3", "c2", "c1"]);
  });

  it("covers its work, is shared by calls of one saver, and ends with a failure too", async () => {
    const [holder, other] = [make(), make()];
    const work = holder.withLease("t", async () => {
      await put(holder, "t", checkpoint("c1"));
      await holder.withLease("t", () => put(holder, "t", checkpoint("c2")));
      await expect(put(other, "t", checkpoint("x"))).rejects.toThrow(LeaseHeldError);
      const second = other.withLease("t", async () => "both have it", { waitMs: 300 });
      await expect(second).rejects.toThrow(LeaseHeldError);
      throw new Error("of the work");
    });
    await expect(work).rejects.toThrow("of the work");
    await other.withLease("t", () => put(other, "t", checkpoint("c3")));
    expect(await ids(holder)).toEqual(["c3", "c2", "c1"]);
  });

  it("lives on by heartbeats through work that is longer than its expiry", async () => {
    const [holder, other] = [make({ leaseSeconds: LEASE_SECONDS }), make()];
    await holder.withLease("t", async () => {
      await put(holder, "t", checkpoint("c1"));
      await sleep(LONG_MS);
      await expect(put(other, "t", checkpoint("x"))).rejects.toThrow(LeaseHeldError);
      await put(holder, "t", checkpoint("c2"));
    });
    expect(await ids(other)).toEqual(["c2", "c1"]);
  });

  it("of an exclusive saver that writes nothing for longer than the expiry lives on by heartbeats", async () => {
    const holder = make({ exclusive: true, leaseSeconds: LEASE_SECONDS });
    const other = make({ exclusive: true });
    await put(holder, "t", checkpoint("c1"));
    await sleep(LONG_MS);
    await expect(put(other, "t", checkpoint("x"))).rejects.toThrow(LeaseHeldError);
    await put(holder, "t", checkpoint("c2"));
    expect(await ids(other)).toEqual(["c2", "c1"]);
    await holder.close();
  });

  it("of an exclusive saver is kept for a minute after its last write", async () => {
    const holder = make({ exclusive: true, leaseSeconds: LEASE_SECONDS });
    const other = make({ exclusive: true });
    const isFree = async () => {
      const refused = await put(other, "t", checkpoint("c4")).catch((error: unknown) => error);
      if (!(refused instanceof Error)) return true;
      expect(refused).toBeInstanceOf(LeaseHeldError);
      return false;
    };
    // The client's clock is set ahead; the server's goes on as ever.
    let aheadMs = 0;
    const now = Date.now;
    vi.spyOn(Date, "now").mockImplementation(() => now() + aheadMs);
    // The second time more than a minute has passed since the first write, but not since the last.
    for (const id of ["c1", "c2"]) {
      await put(holder, "t", checkpoint(id));
      aheadMs += 30_000;
      await sleep(LONG_MS);
      expect(await isFree()).toBe(false);
    }
    await put(holder, "t", checkpoint("c3"));
    aheadMs += 61_000;
    await waitUntil(isFree, "the other saver to get the lease");
    await expect(put(holder, "t", checkpoint("x"))).rejects.toThrow(LeaseLostError);
    expect(await ids(holder)).toEqual(["c4", "c3", "c2", "c1"]);
    await Promise.all([holder.close(), other.close()]);
  });

  it("that another took over in the meantime is lost until the thread is read", async () => {
    const saver = make({ exclusive: true, leaseSeconds: 1 });
    await put(saver, "t", checkpoint("c1"));
    // The event loop stands still for longer than the expiry, as under a long computation.
    const until = Date.now() + 1_500;
    while (Date.now() < until);
    const taken = await client.acquireLease("t", "another", { ttlSeconds: 60 });
    await expect(put(saver, "t", checkpoint("x"))).rejects.toThrow(LeaseLostError);
    await client.releaseLease("t", "another", { fence: taken.fence });
    await expect(put(saver, "t", checkpoint("y"))).rejects.toThrow(LeaseLostError);
    expect((await saver.getTuple(config("t")))?.checkpoint.id).toBe("c1");
    await put(saver, "t", checkpoint("c2"));
    expect(await ids(saver)).toEqual(["c2", "c1"]);
    await saver.close();
  });

  it("of a thread that is deleted in its work stays the saver's", async () => {
    const [holder, other] = [make(), make()];
    await holder.withLease("t", async () => {
      await put(holder, "t", checkpoint("c1"));
      await expect(other.deleteThread("t")).rejects.toThrow(LeaseHeldError);
      await holder.deleteThread("t");
      await put(holder, "t", checkpoint("c2"));
      await expect(put(other, "t", checkpoint("x"))).rejects.toThrow(LeaseHeldError);
    });
    expect(await ids(other)).toEqual(["c2"]);
  });
});

it.each([0, 1.5, 3_601, Number.NaN])("leaseSeconds of %s is refused", (leaseSeconds) => {
  expect(() => new ThreadkeepSaver({ leaseSeconds })).toThrow(InvalidError);
});
