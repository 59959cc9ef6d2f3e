/** Lists that are too long to be filled by calls: rows are copied in the database. */

import { Client } from "threadkeep";
import type { Database } from "../support/database.js";
import { LIST_ROWS } from "../support/settings.js";

export const NAMESPACES = { files: ["ann", "files"], items: ["ann", "items"] };
export const THREAD = "long";
const STEPS_AT_ONCE = 100;
/** Commits that are sent at the same time. */
const SENT_AT_ONCE = 4;

/** Copies of the only row that `where` names. `values`: what a copy has of its own, for the number `n`. */
function copies(table: string, where: string, count: number, values: string): string {
  return `insert into ${table} select (jsonb_populate_record(row, jsonb_build_object(${values}))).*
    from ${table} row, generate_series(1, ${count - 1}) n where ${where}`;
}

const number = "lpad(n::text, 6, '0')";
const key = (name: string) => `'key', '\\x' || encode(convert_to(${name}, 'UTF8'), 'hex')`;
const later = (columns: readonly string[]) =>
  columns.map((column) => `'${column}', row.${column} + n`).join(", ");

/** Threads, files and items. The first of each is made by a call. */
export async function fillLists(url: string, database: Database): Promise<void> {
  const client = new Client({ url });
  const { files, items } = NAMESPACES;
  await client.threads.create({ threadId: "thread-000000", title: "A thread" });
  await client.files.write(files, "/big/file-000000.txt", "text\n");
  await client.store.put(items, "item-000000", { n: 1 });
  const inNamespace = (labels: readonly string[]) =>
    `row.namespace = array[${labels.map((label) => `'${label}'`).join(", ")}]`;
  const threadTimes = ["created_at", "updated_at", "run_of", "run_at", "values_of"];
  const itemTimes = later(["version", "created_at", "updated_at"]);
  await database.run([
    copies("thread_details", "true", LIST_ROWS.threads, "'thread_key', row.thread_key + n"),
    copies(
      "threads",
      "true",
      LIST_ROWS.threads,
      `'thread_id', 'thread-' || ${number}, 'alias', gen_random_uuid(), ${later(["thread_key", ...threadTimes])}`,
    ),
    copies(
      "items",
      inNamespace(files),
      LIST_ROWS.files,
      `${key(`'/big/file-' || ${number} || '.txt'`)}, ${itemTimes}`,
    ),
    copies(
      "items",
      inNamespace(items),
      LIST_ROWS.items,
      `${key(`'item-' || ${number}`)}, ${itemTimes}`,
    ),
    "vacuum analyze",
  ]);
  await fillSteps(url);
}

/** A thread of many steps. */
async function fillSteps(url: string): Promise<void> {
  const firsts = Array.from(
    { length: Math.ceil(LIST_ROWS.steps / STEPS_AT_ONCE) },
    (_, at) => at * STEPS_AT_ONCE,
  );
  await commitSteps(url, firsts.shift() ?? 0);
  const some = async () => {
    for (let first = firsts.shift(); first !== undefined; first = firsts.shift()) {
      await commitSteps(url, first);
    }
  };
  await Promise.all(Array.from({ length: SENT_AT_ONCE }, some));
}

async function commitSteps(url: string, first: number): Promise<void> {
  const idOf = (step: number) => String(step).padStart(6, "0");
  const count = Math.min(STEPS_AT_ONCE, LIST_ROWS.steps - first);
  const ops = Array.from({ length: count }, (_, at) => {
    const step = first + at;
    const skeleton = { v: 4, id: idOf(step), channel_versions: { text: step + 1 } };
    const data = Buffer.from(JSON.stringify(`value ${step}`)).toString("base64");
    const checkpoint = {
      checkpoint_id: idOf(step),
      ...(step === 0 ? {} : { parent_checkpoint_id: idOf(step - 1) }),
      skeleton,
      metadata: { source: "loop", step, parents: {} },
      values: [{ channel: "text", version: step + 1, tag: "json", data }],
    };
    return { checkpoint };
  });
  const answer = await fetch(`${url}/v1/checkpoints/commit`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ thread_id: THREAD, ops }),
  });
  if (!answer.ok) throw new Error(await answer.text());
}
