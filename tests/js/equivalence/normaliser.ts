/**
 * Turns whatever a graph shows into plain data in which random ids and times are placeholders, numbered as first seen. Two
 * runs of one scenario are then equal exactly when they differ in nothing but those.
 */

import { BaseMessage } from "@langchain/core/messages";

const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
const HEX_ID = /(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f.])/g;
/** What deepagents calls the file of a conversation's summary. */
const SESSION_ID = /session_[0-9a-f]{8}/g;
const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g;

/** One per transcript: the same id gets the same placeholder everywhere in it. */
export class Normaliser {
  readonly #seen = new Map<string, string>();

  value(value: unknown): unknown {
    if (typeof value === "string") return this.text(value);
    if (value instanceof Uint8Array) return { bytes: [...value] };
    if (value instanceof BaseMessage) return this.#message(value);
    if (value instanceof Error)
      return { error: value.constructor.name, text: this.text(value.message) };
    if (Array.isArray(value)) return withoutRace(value).map((item) => this.value(item));
    if (value === null || typeof value !== "object") return value;
    if (value instanceof Map || value instanceof Set)
      return { [value.constructor.name]: this.value([...value]) };
    // In the order of the keys, so that ids are met in the same order.
    const names = Object.keys(value).sort();
    const entries = names.map((name) => [
      this.text(name),
      this.value((value as Record<string, unknown>)[name]),
    ]);
    return Object.fromEntries(entries);
  }

  /** Only what addresses a checkpoint; an in-memory saver echoes the caller's other entries. */
  config(config: { configurable?: Record<string, unknown> } | undefined): unknown {
    if (config === undefined) return undefined;
    const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable ?? {};
    return this.value({ thread_id, checkpoint_ns, checkpoint_id });
  }

  /** Without numbers: for sorting what comes in no order. */
  static plain(value: unknown): string {
    return JSON.stringify(value)?.replaceAll(UUID, "<id>") ?? "";
  }

  text(value: string): string {
    const name = (found: string) => this.#placeholder(found);
    return value
      .replaceAll(TIME, "<time>")
      .replaceAll(UUID, name)
      .replaceAll(HEX_ID, name)
      .replaceAll(SESSION_ID, name);
  }

  /** LangGraph gives an id to a message without one while a saver may be writing it: both are seen. */
  #message(message: BaseMessage): unknown {
    const { data, type } = message.toDict();
    const isGiven = message.id === undefined || message.id.search(UUID) >= 0;
    return {
      type,
      ...(this.value({ ...data, id: undefined }) as object),
      id: isGiven ? "<given>" : message.id,
    };
  }

  #placeholder(found: string): string {
    const known = this.#seen.get(found) ?? `<id ${this.#seen.size}>`;
    this.#seen.set(found, known);
    return known;
  }
}

/** Parallel writes of a delta channel are replayed in the order of their task ids, which are random. */
function withoutRace(values: unknown[]): unknown[] {
  const isBranch = (value: unknown) => typeof value === "string" && value.startsWith("branch ");
  const branches = values.filter(isBranch).sort();
  return values.map((value) => (isBranch(value) ? branches.shift() : value));
}
