/** A small example: items, files and a session, as an agent would write them. It has no thread, because only savers write checkpoints. */

import { type Client, NoSuchFileError } from "threadkeep";
import type { Need, Thing } from "../api/capabilities.js";
import { grantName } from "../nouns/snapshots/snapshot_things.js";

/** Nothing else of a tenant has this name. */
const ROOT = "threadkeep-example";
export const NOTES: readonly string[] = [ROOT, "notes"];
export const FILES: readonly string[] = [ROOT, "files"];
export const SESSION = { kind: "claude", key: [ROOT, "trip"] };
export const SESSION_TITLE = "A trip by boat";

const ITEMS: Record<string, { kind: string; text: string; stars: number }> = {
  tea: { kind: "taste", text: "She drinks green tea.", stars: 4 },
  boat: { kind: "plan", text: "The boat leaves at noon.", stars: 5 },
  weather: { kind: "fact", text: "It rains on Monday.", stars: 2 },
};
const TEXTS: Record<string, string> = {
  "/README.md": "# A trip by boat\n\nWhat the agent has found out is in `plans`.\n",
  "/plans/monday.md": "# Monday\n\n- [x] Ask for the tide\n- [ ] Pack the tea\n",
};
const CALL = { type: "tool_use", id: "toolu_1", name: "Read", input: { file_path: "/tides.txt" } };
const RESULT = { type: "tool_result", tool_use_id: "toolu_1", content: "High tide at noon." };
const TURNS: [type: "user" | "assistant", content: unknown][] = [
  ["user", "When can we leave by boat on Monday?"],
  ["assistant", [{ type: "text", text: "I look at the tides." }, CALL]],
  ["user", [RESULT]],
  ["assistant", [{ type: "text", text: "At **noon**: the tide is high then." }]],
];

/** Writes the example; what is there of it is written again. */
export async function writeExample(client: Client): Promise<void> {
  for (const [key, value] of Object.entries(ITEMS)) await client.store.put(NOTES, key, value);
  for (const [path, text] of Object.entries(TEXTS)) await client.files.write(FILES, path, text);
  const entries = TURNS.map(([type, content], at) => {
    const id = `example-${at + 1}`;
    return { id, data: { type, uuid: id, message: { role: type, content } } };
  });
  await client.sessions.append(SESSION, entries, { create: { title: SESSION_TITLE } });
}

/** Deletes what the example has written, and nothing else. */
export async function deleteExample(client: Client): Promise<void> {
  for (const key of Object.keys(ITEMS)) await client.store.delete(NOTES, key);
  for (const path of Object.keys(TEXTS)) {
    try {
      await client.files.delete(FILES, path);
    } catch (error) {
      if (!(error instanceof NoSuchFileError)) throw error;
    }
  }
  await client.sessions.delete(SESSION);
}

export function needsToWrite(): Need[] {
  return [
    { operation: "put_item", thing: { namespace: NOTES, isNew: true } },
    { operation: "write_file", thing: { namespace: FILES, isNew: true } },
    { operation: "append_entries", thing: sessionThing() },
  ];
}

export function needsToDelete(): Need[] {
  return [
    { operation: "delete_item", thing: { namespace: NOTES } },
    { operation: "delete_files", thing: { namespace: FILES } },
    { operation: "delete_session", thing: sessionThing() },
  ];
}

function sessionThing(): Thing {
  return { session: grantName(SESSION.kind, SESSION.key), isNew: true };
}
