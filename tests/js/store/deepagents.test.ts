/** deepagents' own StoreBackend over ours: binary files, two users, another process's store object. */

import { MemorySaver } from "@langchain/langgraph";
import { CompositeBackend, createDeepAgent, StateBackend, StoreBackend } from "deepagents";
import { ThreadkeepStore } from "threadkeep/langgraph";
import { describe, expect, inject, it } from "vitest";
import { calls, Scripted } from "../support/agents.js";
import { newKey } from "../support/server.js";
import { ENGINES } from "../support/servers.js";
import { newStore } from "../support/stores.js";

const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0xff, 0x80]);
const PATH = "/memories/action_history.json";

function agentOf(store: ThreadkeepStore, script: ReturnType<typeof calls>[]) {
  const memories = new StoreBackend({
    namespace: ({ assistantId }) => [assistantId ?? "nobody", "filesystem"],
  });
  return createDeepAgent({
    model: new Scripted(script),
    backend: new CompositeBackend(new StateBackend(), { "/memories/": memories }),
    store,
    checkpointer: new MemorySaver(),
  });
}

/** What the tools said to this user. */
async function told(store: ThreadkeepStore, user: string, script: ReturnType<typeof calls>[]) {
  const config = {
    configurable: { thread_id: `thread-${user}` },
    metadata: { assistant_id: user },
  };
  const messages = [{ role: "user" as const, content: "go on" }];
  const state = await agentOf(store, script).invoke({ messages }, config);
  return state.messages.filter((it) => it.getType() === "tool").map((it) => it.text);
}

describe.each(ENGINES)("on %s", (engine) => {
  it("binary files survive upload and download", async () => {
    const store = await newStore(engine);
    const backend = new StoreBackend({ store, namespace: ["ann", "filesystem"] });
    const large = Uint8Array.from({ length: 300_000 }, (_, at) => (at * 31) % 256);
    const uploaded = await backend.uploadFiles([
      ["/image.png", PNG],
      ["/empty.bin", new Uint8Array()],
      ["/large.pdf", large],
      ["/text.md", new TextEncoder().encode("Grüße 🦀\n")],
    ]);
    expect(uploaded.map((it) => it.error)).toEqual([null, null, null, null]);
    const paths = ["/image.png", "/empty.bin", "/large.pdf", "/text.md", "/absent"];
    const found = await backend.downloadFiles(paths);
    expect(found.map((it) => it.error)).toEqual([null, null, null, null, "file_not_found"]);
    expect(new Uint8Array(found[0]?.content ?? [1])).toEqual(PNG);
    expect(found[1]?.content).toHaveLength(0);
    expect(Buffer.compare(found[2]?.content as Uint8Array, large)).toBe(0);
    expect(new TextDecoder().decode(found[3]?.content ?? undefined)).toBe("Grüße 🦀\n");
    const read = await backend.read("/image.png");
    expect(read.content).toBeInstanceOf(Uint8Array);
    expect(read.mimeType).toBe("image/png");
    const listed = await backend.ls("/");
    expect(listed.files?.map((it) => [it.path, it.size])).toEqual([
      ["/empty.bin", 0],
      ["/image.png", PNG.length],
      ["/large.pdf", large.length],
      ["/text.md", 9],
    ]);
    expect(await backend.delete("/image.png")).toMatchObject({ path: "/image.png" });
    expect((await backend.downloadFiles(["/image.png"]))[0]?.error).toBe("file_not_found");
  });

  it("two users have a file each, and a later process finds it", async () => {
    const place = inject("servers")[engine];
    const options = { url: place.url, apiKey: await newKey(place) };
    for (const user of ["ann", "bob"]) {
      const said = await told(new ThreadkeepStore(options), user, [
        calls(["r0", "read_file", { file_path: PATH }]),
        calls(["w", "write_file", { file_path: PATH, content: `{"by": "${user}"}` }]),
        calls(["e", "edit_file", { file_path: PATH, old_string: "by", new_string: "who" }]),
        calls(["g", "grep", { pattern: "who", path: "/memories" }]),
      ]);
      expect(said[0]).toMatch(/not found/);
      expect(said[3]).toContain(PATH);
    }
    const store = new ThreadkeepStore(options);
    for (const user of ["ann", "bob"]) {
      const [read] = await told(store, user, [calls(["r", "read_file", { file_path: PATH }])]);
      expect(read).toContain(`{"who": "${user}"}`);
      expect(read).not.toContain(user === "ann" ? "bob" : "ann");
    }
    expect(await store.listNamespaces()).toEqual([
      ["ann", "filesystem"],
      ["bob", "filesystem"],
    ]);
  });
});
