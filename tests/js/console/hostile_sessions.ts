/** Sessions and a snapshot whose every text means harm. */

import type { Page } from "playwright-core";
import { Client } from "threadkeep";

export const SESSION = { kind: "claude", key: ["<img src=x onerror=pwned=1>", "session\u202e"] };
export const RUN = { kind: "agentrail", key: ["<img src=x onerror=pwned=1>", "run\u202e"] };
export const SNAPSHOT = "hostile";
const LABEL_BYTES_MAX = 60;

export interface Hostile {
  texts: readonly string[];
  /** Those that can be a key or a name. */
  ids: readonly string[];
  /** One that holds items. */
  namespace: readonly string[];
}

/** Sessions of these keys and titles, and one with all of the texts in its entries, streams, documents and snapshots. */
export async function keepSessions(url: string, { texts, ids, namespace }: Hostile): Promise<void> {
  const client = new Client({ url });
  for (const text of ids) {
    await client.sessions.create(
      { kind: "claude", key: [text, text] },
      { user: text, title: text },
    );
  }
  const entries = texts.flatMap((text, at) => {
    const id = `call ${at}`;
    const use = { type: "tool_use", id, name: text, input: { [text]: text } };
    const result = { type: "tool_result", tool_use_id: id, content: text, is_error: true };
    const picture = { type: "image", source: { type: "url", url: text } };
    return [
      { type: "user", message: { role: "user", content: [{ type: "text", text }, picture] } },
      { type: "assistant", message: { role: "assistant", content: [{ type: "text", text }, use] } },
      { type: "user", message: { role: "user", content: [result] } },
      { type: text, [text]: text },
    ];
  });
  await client.sessions.append(
    SESSION,
    entries.map((data) => ({ data })),
  );
  for (const text of ids) {
    await client.sessions.append(SESSION, [{ data: text }], { stream: text });
    await client.sessions.putDocument(SESSION, text, text);
  }
  await keepRun(client, texts);
  const labels = ids.filter((text) => Buffer.byteLength(text) <= LABEL_BYTES_MAX).slice(0, 10);
  await client.snapshots.take({
    snapshotId: SNAPSHOT,
    sessions: [SESSION, { kind: "claude", key: [ids[0] ?? "", ids[0] ?? ""] }],
    threads: ids.slice(0, 1),
    namespaces: [namespace],
    labels: Object.fromEntries(labels.map((text) => [`label ${text}`.slice(0, 60), text])),
    document: texts,
  });
}

/** A session of Agentrail with all of the texts in its trace, and in the agents of its orchestration. */
async function keepRun(client: Client, texts: readonly string[]): Promise<void> {
  const traced = texts.map((text) => ({
    data: { source: text, timestamp: text, event: { type: text, [text]: text } },
  }));
  await client.sessions.append(RUN, traced, { stream: "trace" });
  const each = (made: (text: string) => object) =>
    Object.fromEntries(texts.map((text) => [text, made(text)]));
  const state = {
    runs: each((text) => ({ status: text, initialTaskId: text, createdAt: text })),
    tasks: each((text) => ({ kind: text, input: { [text]: text } })),
    agents: each((text) => ({
      ...{ displayName: text, role: text, status: text, updatedAt: text },
      lastJob: { outcome: text, error: text, outputText: text },
    })),
    waits: each((text) => ({ id: text, agentId: text, description: text, status: "pending" })),
    queuedInputs: [{ id: texts[0], payload: texts }],
  };
  await client.sessions.putDocument(RUN, "orch/snapshot", JSON.stringify(state));
}

/** Loads the stream that is open to its first entry. */
export async function loadEarlier(page: Page): Promise<void> {
  await page.evaluate(async () => {
    // The button goes with the first entry, perhaps while it is looked at.
    for (;;) {
      const buttons = Array.from(document.querySelectorAll("button"));
      const earlier = buttons.find((it) => it.textContent === "Earlier entries");
      if (earlier === undefined) return;
      if (!earlier.disabled) earlier.click();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
}
