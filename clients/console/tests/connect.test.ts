/** The page that connects an agent shows code without a key, and writes and deletes its example. */

import { type Client, NoSuchFileError } from "threadkeep";
import { expect, it } from "vitest";
import { can } from "../src/api/capabilities.js";
import { connectSamples, exportLines } from "../src/app/connect_samples.js";
import { deleteExample, needsToDelete, needsToWrite, writeExample } from "../src/app/example.js";

const URL = "http://127.0.0.1:7070";

it("no code has a credential, and each names the server", () => {
  const samples = connectSamples(URL);
  expect(Object.keys(samples)).toContain("Claude Agent SDK, Python");
  for (const [name, text] of Object.entries(samples)) {
    expect(text, name).toContain(URL);
    expect(text, name).not.toMatch(/tks_|tk_|api_key=|apiKey/);
  }
});

it("the lines for a shell quote the token", () => {
  expect(exportLines(URL, "tks_a'b")).toBe(
    `export THREADKEEP_URL='${URL}'\nexport THREADKEEP_API_KEY='tks_a'\\''b'`,
  );
});

it("a token that only adds may write the example, and not delete it", () => {
  const grants = {
    namespaces: [{ prefix: ["threadkeep-example"], actions: ["read", "append"] as const }],
    sessions: [{ prefix: "claude:threadkeep-example/", actions: ["read", "append"] as const }],
  };
  const identity = { tenant: "t", credential: "tok_1", grants } as never;
  const may = (needs: ReturnType<typeof needsToWrite>) =>
    needs.every(({ operation, thing }) => can(identity, operation, thing));
  expect(may(needsToWrite())).toBe(true);
  expect(may(needsToDelete())).toBe(false);
});

it("what deletes the example names everything that it wrote, and nothing else", async () => {
  const written: unknown[] = [];
  const deleted: unknown[] = [];
  const noted = (list: unknown[], what: string) => async (place: unknown, name?: unknown) => {
    list.push([what, place, Array.isArray(name) ? undefined : name]);
  };
  const client = {
    store: { put: noted(written, "item"), delete: noted(deleted, "item") },
    files: { write: noted(written, "file"), delete: noted(deleted, "file") },
    sessions: { append: noted(written, "session"), delete: noted(deleted, "session") },
  } as unknown as Client;
  await writeExample(client);
  await deleteExample(client);
  expect(written.length).toBeGreaterThanOrEqual(6);
  expect(deleted).toEqual(written);
});

it("a file that is gone already does not stop the deletion, and another failure does", async () => {
  const failing = (error: Error) =>
    ({
      store: { delete: async () => {} },
      files: { delete: () => Promise.reject(error) },
      sessions: { delete: async () => {} },
    }) as unknown as Client;
  await deleteExample(failing(new NoSuchFileError("no such file")));
  await expect(deleteExample(failing(new Error("away")))).rejects.toThrow("away");
});
