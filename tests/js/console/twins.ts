/** One graph on the server and in memory: what the console does to a thread of the one is done by hand to the other. */

import { MemorySaver } from "@langchain/langgraph";
import { ThreadkeepSaver } from "threadkeep/langgraph";
import { expect } from "vitest";
import { Driver, firstDifference } from "../equivalence/driver.js";
import { asking, type Kind } from "../equivalence/graphs.js";
import type { Place } from "./agents.js";

interface Kept {
  storage: MemorySaver["storage"];
  writes: MemorySaver["writes"];
}

export class Twins {
  readonly #place: Place;
  readonly #kind: Kind;
  readonly #memory = new MemorySaver();

  /** The graph asks for a name and a colour in each turn, between a node before and a node after. */
  constructor(place: Place, kind: Kind) {
    this.#place = place;
    this.#kind = kind;
  }

  /** A saver that knows nothing of earlier calls, as in a new process, and the one in memory. */
  #drivers(): [server: Driver, memory: Driver] {
    return [new Driver(new ThreadkeepSaver(this.#place)), new Driver(this.#memory)];
  }

  /** Runs both with each input in turn. `pick` chooses what of the threads has to be equal. */
  async expectEqual(
    thread: string,
    inputs: readonly unknown[] = [],
    pick: "all" | "state" = "all",
  ): Promise<void> {
    const drivers = this.#drivers();
    for (const driver of drivers) {
      const graph = asking(this.#kind, driver.saver);
      const config = driver.config(thread);
      for (const input of inputs) await driver.invoke(graph, input, config);
      if (pick === "all") await driver.all(graph, config);
      else await driver.state(graph, config);
    }
    const [server, memory] = drivers.map((one) => told(one, pick));
    expect(memory?.length).toBeGreaterThan(inputs.length);
    expect(firstDifference(memory, server)).toBeUndefined();
  }

  /** The oldest checkpoint whose next node is this one, on the server and in memory. */
  async before(thread: string, node: string): Promise<[server: string, memory: string]> {
    const [server, memory] = this.#drivers();
    return [await this.#oldest(server, thread, node), await this.#oldest(memory, thread, node)];
  }

  async #oldest(driver: Driver, thread: string, node: string): Promise<string> {
    const graph = asking(this.#kind, driver.saver);
    const states = await driver.history(graph, driver.config(thread));
    const found = states.findLast(({ next }) => next.includes(node))?.config.configurable;
    const id: unknown = found?.["checkpoint_id"];
    if (typeof id !== "string") throw new Error(`${thread} has no checkpoint before ${node}`);
    return id;
  }

  /** In memory: another thread with the same checkpoints, or only with those until one of them. */
  copy(source: string, target: string, until = "~"): void {
    const { storage, writes } = this.#memory;
    storage[target] = structuredClone(storage[source] ?? {});
    for (const [key, kept] of Object.entries(writes)) {
      const [thread, ...place] = JSON.parse(key) as string[];
      if (thread === source) writes[JSON.stringify([target, ...place])] = structuredClone(kept);
    }
    this.rewind(target, until);
  }

  /** In memory: the checkpoints after this one go. Their ids rise with time. */
  rewind(thread: string, until: string): void {
    const { storage, writes } = this.#memory;
    for (const checkpoints of Object.values(storage[thread] ?? {})) {
      for (const id of Object.keys(checkpoints)) if (id > until) delete checkpoints[id];
    }
    for (const key of Object.keys(writes)) {
      const [of, , id] = JSON.parse(key) as string[];
      if (of === thread && id !== undefined && id > until) delete writes[key];
    }
  }

  /** All threads in memory, and what puts them back. */
  keep(): Kept {
    const { storage, writes } = this.#memory;
    return structuredClone({ storage, writes });
  }

  putBack({ storage, writes }: Kept): void {
    Object.assign(this.#memory, structuredClone({ storage, writes }));
  }
}

/** Of a state, without where it is stored. */
function told(driver: Driver, pick: "all" | "state"): unknown[] {
  if (pick === "all") return driver.transcript;
  return driver.transcript.map(([what, shown]) => {
    const { config: _, parent: __, ...rest } = shown as Record<string, unknown>;
    return [what, rest];
  });
}
