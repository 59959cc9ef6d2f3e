/**
 * Large values in parts: sent ahead of the commit that names them, fetched one after the other. A value is cut by views, so that
 * nothing but the parts under way is copied; one that is read is put together in one buffer, which then is the value.
 */

import { ProtocolError } from "../errors.js";
import { listIn, objectOf } from "../wire/answers.js";
import { nameOfBytes } from "../wire/digest.js";
import type { Schemas } from "../wire/schemas.js";
import { VALUE_BYTES_MAX } from "./encode.js";
import type { ReadAnswer } from "./offer.js";

// As the server has them, in GET /v1/limits.
/** `value_part_bytes`: each part of a value but the last one. */
export const PART_BYTES = 2 * 1024 * 1024;
/** `value_in_parts_bytes_min`: larger values travel in parts. */
const IN_PARTS_BYTES_MIN = 8 * 1024 * 1024;
/** `body_bytes_max` of a commit. */
export const BODY_BYTES_MAX = 72 * 1024 * 1024;
/** Parts of one call that are under way together. */
const IN_FLIGHT_MAX = 2;
/** How often one commit puts all its parts again. */
export const PUT_AGAIN_MAX = 2;

const PUT = "/v1/checkpoints/parts/put";
const GET = "/v1/checkpoints/parts/get";

/** Sends one request of a call. */
export type Call = (
  path: typeof PUT | typeof GET,
  body: object,
) => Promise<Record<string, unknown>>;

/** The conditions of a write on its thread. */
export interface Terms {
  thread_id: string;
  generation: string | undefined;
  fence: number | undefined;
}

/** What stands in the place of a value in parts. */
type InParts = Schemas["ValueInParts"];
export type Entry = { data?: Schemas["DataAnswered"] | null };
/** Values that were fetched, by the names of their parts. */
export type Held = Map<string, Uint8Array>;

/** Whether a value travels in parts, whatever else its commit holds. */
export function isLarge(data: Uint8Array): boolean {
  return data.length > IN_PARTS_BYTES_MIN;
}

/** Puts the parts of some values. Returns what stands in the place of each. */
export async function putAll(
  terms: Terms,
  values: readonly Uint8Array[],
  call: Call,
): Promise<InParts[]> {
  const named = values.map((data): InParts => ({ parts: [], length: data.length }));
  const pieces = values.flatMap((data, at) =>
    Array.from({ length: Math.ceil(data.length / PART_BYTES) }, (_, index) => {
      const part = data.subarray(index * PART_BYTES, (index + 1) * PART_BYTES);
      return { at, index, part };
    }),
  );
  await someAtOnce(pieces, async ({ at, index, part }) => {
    const answer = await call(PUT, { ...terms, index, data: part });
    const place = named[at];
    if (place) place.parts[index] = bytesOf(answer["name"]);
  });
  return named;
}

/** The entries of a checkpoint whose data came in parts. */
export function ofView(raw: Schemas["CheckpointView"]): Entry[] {
  const sends = raw.pending_sends ? listIn(raw, "pending_sends") : [];
  const entries: Entry[] = [...listIn(raw, "values"), ...listIn(raw, "writes"), ...sends];
  return entries.filter(comesInParts);
}

/** The same of the histories that an answer brings along. */
export function ofHistories(answer: ReadAnswer): Entry[] {
  return [...entriesOfHistories(answer)].filter(comesInParts);
}

/** Of all these values together. */
export function lengthOf(entries: readonly Entry[]): number {
  return entries.reduce((sum, entry) => sum + partsIn(entry).length, 0);
}

/**
 * Puts the bytes of values in the place of the names of their parts. What is held already is not fetched again. Returns the values
 * of these entries.
 */
export async function fetchAll(
  threadId: string,
  entries: readonly Entry[],
  held: Held,
  call: Call,
): Promise<Held> {
  const found: Held = new Map();
  for (const entry of entries) {
    const { names, length } = partsIn(entry);
    const key = names.map(nameOfBytes).join("/");
    const value = found.get(key) ?? held.get(key) ?? (await fetched(threadId, names, length, call));
    found.set(key, value);
    entry.data = value;
  }
  return found;
}

/** Two at a time and in their order, because the place of a part is known by the lengths before it. */
async function fetched(
  threadId: string,
  names: readonly Uint8Array[],
  length: number,
  call: Call,
): Promise<Uint8Array> {
  const value = new Uint8Array(length);
  let at = 0;
  for (let first = 0; first < names.length; first += IN_FLIGHT_MAX) {
    const together = names.slice(first, first + IN_FLIGHT_MAX);
    const answers = await allSettled(
      together.map((name) => call(GET, { thread_id: threadId, name })),
    );
    for (const answer of answers) {
      const part = bytesOf(answer["data"]);
      if (at + part.length > length) {
        throw new ProtocolError("the parts of a value have more bytes than it");
      }
      value.set(part, at);
      at += part.length;
    }
  }
  if (at !== length) throw new ProtocolError("the parts of a value have fewer bytes than it");
  return value;
}

/** Runs work for each, some at once. After a failure nothing more is begun, and what is under way is waited for. */
async function someAtOnce<T>(all: readonly T[], work: (one: T) => Promise<void>): Promise<void> {
  const left = all.values();
  let isFailed = false;
  const worker = async () => {
    for (const one of left) {
      if (isFailed) return;
      try {
        await work(one);
      } catch (error) {
        isFailed = true;
        throw error;
      }
    }
  };
  await allSettled(Array.from({ length: IN_FLIGHT_MAX }, worker));
}

/** As Promise.all, but nothing goes on behind its failure. */
async function allSettled<T>(promises: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(promises);
  return await Promise.all(promises);
}

function* entriesOfHistories(answer: ReadAnswer): Generator<Entry> {
  for (const view of viewsIn(answer)) yield* entriesOfBases(view.bases);
  yield* entriesOfBases(answer.bases);
  for (const node of answer.chain ? listIn(answer, "chain") : []) {
    yield* listIn(node, "seeds");
    yield* listIn(node, "writes");
    yield* entriesOfBases(node.bases);
  }
}

function* entriesOfBases(bases: Schemas["Base"][] | undefined): Generator<Entry> {
  for (const base of bases ? listIn({ bases }, "bases") : []) {
    if (base.seed) yield objectOf<Entry>(base.seed, "seed");
    yield* listIn(base, "writes");
  }
}

/** Takes out of an answer what it brings along beside its checkpoints. */
export function dropHistories(answer: ReadAnswer): void {
  answer.chain = [];
  answer.history_channels = [];
  delete answer.digest;
  delete answer.continues_at;
  for (const view of viewsIn(answer)) view.bases = [];
}

function viewsIn(answer: ReadAnswer): Schemas["CheckpointView"][] {
  const { checkpoint } = answer;
  if (checkpoint) return [objectOf<Schemas["CheckpointView"]>(checkpoint, "checkpoint")];
  return answer.checkpoints ? listIn(answer, "checkpoints") : [];
}

/** Whether data of an answer are the names of parts. */
export function isInParts(data: Schemas["DataAnswered"] | null | undefined): data is InParts {
  return typeof data === "object" && data !== null && "parts" in data;
}

function comesInParts({ data }: Entry): boolean {
  return isInParts(data);
}

function partsIn(entry: Entry): { names: Uint8Array[]; length: number } {
  const { parts, length } = entry.data as Partial<Record<keyof InParts, unknown>>;
  const isPossible = typeof length === "number" && length > 0 && length <= VALUE_BYTES_MAX;
  if (!Array.isArray(parts) || !isPossible) {
    throw new ProtocolError("the answer holds a value in parts of an impossible length");
  }
  return { names: parts.map(bytesOf), length };
}

/** A name, or the bytes of a part. */
function bytesOf(found: unknown): Uint8Array {
  if (found instanceof Uint8Array) return found;
  throw new ProtocolError("the answer lacks the bytes of a part, or its name");
}
