/** Threads that no page may load whole. */

import { ThreadkeepSaver } from "threadkeep/langgraph";
import { config, METADATA } from "../support/checkpoints.js";

const AT_ONCE = 25;

/** Versions of channels that a step writes. */
type Versions = Record<string, number>;

interface StepPut {
  thread: string;
  id: string;
  parent?: string | undefined;
  step: number;
  values: Record<string, unknown>;
  versions: Versions;
  /** Those that the step changed. */
  fresh: Versions;
}

export async function putStep(saver: ThreadkeepSaver, given: StepPut): Promise<void> {
  const { thread, id, parent, step, values, versions, fresh } = given;
  const place = config(thread, parent === undefined ? {} : { checkpoint_id: parent });
  const base = { v: 4, id, ts: "2026-01-31T12:00:00.000Z", versions_seen: {} };
  const made = { ...base, channel_values: values, channel_versions: versions };
  await saver.put(place, made, { ...METADATA, step }, fresh);
}

export const STEPS = 1_050;
/** `seldom` changes at every so many steps. */
export const SELDOM = 100;

const idOf = (step: number) => `c${String(step).padStart(5, "0")}`;

/** A thread of many steps. `often` changes at each. */
export async function putSteps(url: string, thread: string): Promise<void> {
  const saver = new ThreadkeepSaver({ url });
  for (let first = 0; first < STEPS; first += AT_ONCE) {
    const steps = Array.from({ length: Math.min(AT_ONCE, STEPS - first) }, (_, at) => first + at);
    await Promise.all(
      steps.map((step) => {
        const seldom = Math.floor(step / SELDOM) + 1;
        const often = { often: step + 1 };
        return putStep(saver, {
          ...{ thread, id: idOf(step), step, versions: { ...often, seldom } },
          parent: step === 0 ? undefined : idOf(step - 1),
          values: { often: `value ${step}`, seldom: `value ${seldom}` },
          fresh: step % SELDOM === 0 ? { ...often, seldom } : often,
        });
      }),
    );
  }
}

export const MESSAGES = 1_000;
export const MESSAGE_BYTES = 5_200;
export const TEXT = "é".repeat(150_000);

/** What a message says: its number first. */
export function messageText(at: number): string {
  return `message ${at} `.padEnd(MESSAGE_BYTES, "x");
}

/** Which message of the first large state is another one, and what it says there. */
export const EDITED = { at: 500, content: "as it was first" };

/** A state of more than 5 MB, then one where a message is another one, then one where only `note` is. */
export async function putLarge(url: string, thread: string): Promise<void> {
  const saver = new ThreadkeepSaver({ url });
  const message = (at: number, content = messageText(at)) => {
    return { type: at % 2 === 0 ? "human" : "ai", id: `m${at}`, content };
  };
  const messages = Array.from({ length: MESSAGES }, (_, at) => message(at));
  const values = { messages, text: TEXT, note: "before" };
  const first = { messages: 1, text: 1, note: 1 };
  const second = { ...first, messages: 2 };
  const third = { ...second, note: 2 };
  await putStep(saver, {
    ...{ thread, id: "c0", step: 0, versions: first, fresh: first },
    values: { ...values, messages: messages.with(EDITED.at, message(EDITED.at, EDITED.content)) },
  });
  await putStep(saver, {
    ...{ thread, id: "c1", parent: "c0", step: 1, values },
    ...{ versions: second, fresh: { messages: 2 } },
  });
  await putStep(saver, {
    ...{ thread, id: "c2", parent: "c1", step: 2, values: { ...values, note: "after" } },
    ...{ versions: third, fresh: { note: 2 } },
  });
}
