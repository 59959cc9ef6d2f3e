/** The values that were named in one read, and how its answer becomes whole with them. */

import { bytesIn, listIn, objectOf, textIn } from "../wire/answers.js";
import { type Name, nameOf, nameOfBytes } from "../wire/digest.js";
import type { Schemas } from "../wire/schemas.js";
import { applied, BYTES_MIN, DoesNotFitError, ofWire } from "./differences.js";
import { placeOf } from "./encode.js";
import { isInParts } from "./parts.js";
import type { Named, Offered } from "./values.js";

/** What an answer to a read may hold. */
export type ReadAnswer = Partial<
  Schemas["GotCheckpoint"] & Schemas["CheckpointPage"] & Schemas["Histories"]
>;
type Entry = { data: Schemas["DataAnswered"] };
type Placed = [place: string | undefined, entry: Entry];

/** One read. What it names cannot be forgotten before its answer comes. */
export class Offer {
  readonly haveValues: Uint8Array[];
  readonly #held: Map<Name, Uint8Array>;

  constructor(offered: readonly Offered[]) {
    this.#held = new Map(offered.map(({ name, data }) => [name, data]));
    this.haveValues = offered.map(({ prefix }) => prefix);
  }

  /**
   * Put bytes in the place of every name and difference. Returns what is worth keeping. Throws DoesNotFitError when
   * something is not held or has another digest.
   */
  async resolved(answer: ReadAnswer): Promise<Named[]> {
    const named: Named[] = [];
    for (const [place, entry] of entriesIn(answer)) {
      const { data: found } = entry;
      // Most are small, and there are thousands of them in a long history.
      if (found instanceof Uint8Array && found.length < BYTES_MIN) continue;
      if (typeof found !== "object" || found === null || isInParts(found)) continue;
      const [name, data] =
        found instanceof Uint8Array ? [await nameOf(found), found] : await this.#resolve(found);
      entry.data = data;
      this.#held.set(name, data);
      if (place !== undefined) named.push({ place, name, data });
    }
    return named;
  }

  async #resolve(found: Schemas["SameValue"] | Schemas["Difference"]): Promise<[Name, Uint8Array]> {
    if ("same" in found) {
      const name = nameOfBytes(bytesIn(found, "same"));
      return [name, this.#value(name)];
    }
    const base = this.#value(nameOfBytes(bytesIn(found, "base")));
    const name = nameOfBytes(bytesIn(found, "sha256"));
    const { pieces, length } = ofWire(found);
    return [name, await applied(base, pieces, length, name)];
  }

  #value(name: Name): Uint8Array {
    const value = this.#held.get(name);
    if (!value) throw new DoesNotFitError("the answer names a value that is not held");
    return value;
  }
}

/**
 * Every entry with data, in the order in which the server wrote them. With its place for those of the first checkpoint,
 * which are worth keeping; the others of a page are older.
 */
function* entriesIn(answer: ReadAnswer): Generator<Placed> {
  const { checkpoint } = answer;
  const single = checkpoint
    ? objectOf<Schemas["CheckpointView"]>(checkpoint, "checkpoint")
    : undefined;
  const views = single ? [single] : answer.checkpoints ? listIn(answer, "checkpoints") : [];
  for (const view of views) yield* entriesOfView(view, view === views[0]);
  if (answer.bases) yield* seedsOfBases(listIn(answer, "bases"));
  for (const node of answer.chain ? listIn(answer, "chain") : []) {
    for (const seed of listIn(node, "seeds")) {
      const ns = single && textIn(single, "checkpoint_ns");
      yield [ns === undefined ? ns : placeOf("v", ns, textIn(seed, "channel")), seed];
    }
    yield* seedsOfBases(node.bases ? listIn(node, "bases") : []);
  }
}

function* entriesOfView(view: Schemas["CheckpointView"], isFirst: boolean): Generator<Placed> {
  const ns = textIn(view, "checkpoint_ns");
  for (const value of listIn(view, "values")) {
    yield [isFirst ? placeOf("v", ns, textIn(value, "channel")) : undefined, value];
  }
  for (const write of listIn(view, "writes")) {
    yield [isFirst ? placeOf("w", ns, textIn(write, "channel")) : undefined, write];
  }
  for (const send of view.pending_sends ? listIn(view, "pending_sends") : []) {
    yield [undefined, send];
  }
  yield* seedsOfBases(view.bases ? listIn(view, "bases") : []);
}

function* seedsOfBases(bases: Schemas["Base"][]): Generator<Placed> {
  for (const base of bases) {
    if (base.seed) yield [undefined, objectOf<Entry>(base.seed, "seed")];
  }
}
