/** One namespace, two languages: what Python's StoreBackend wrote JavaScript reads, edits and finds, and the other way round. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { ThreadkeepStore } from "threadkeep/langgraph";
import { describe, expect, it } from "vitest";
import { backendOf, NAMESPACE, newAccess } from "../support/files.js";
import { ENGINES } from "../support/servers.js";
import { cleanEnvironment, ROOT } from "../support/settings.js";

const PYTHON = `${ROOT}target/py/bin/python`;
const PRELUDE = `
from deepagents.backends import StoreBackend
from threadkeep.langgraph import ThreadkeepStore
store = ThreadkeepStore()
NS = ("ann", "filesystem")
backend = StoreBackend(namespace=lambda rt: NS, store=store)
PNG = bytes([0x89, 0x50, 0x4E, 0x47, 13, 10, 26, 10, 0, 255])
`;
const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 255]);
const TIMES = {
  created_at: "2026-11-21T08:11:55.807160+00:00",
  modified_at: "2026-11-21T08:11:55+00:00",
};

describe.each(ENGINES)("on %s", (engine) => {
  async function both() {
    const access = await newAccess(engine);
    const env = {
      ...cleanEnvironment(),
      PYTHONPATH: `${ROOT}clients/python/src`,
      THREADKEEP_URL: access.url,
      THREADKEEP_API_KEY: access.apiKey,
    } as unknown as NodeJS.ProcessEnv;
    const python = async (program: string) => {
      const { stdout } = await promisify(execFile)(PYTHON, ["-c", PRELUDE + program], { env });
      return stdout.trim();
    };
    return { python, backend: backendOf(access), store: new ThreadkeepStore(access) };
  }

  it("values in Python's form are files here", async () => {
    const { backend, store } = await both();
    const base64 = Buffer.from(PNG).toString("base64");
    const values = {
      "/a.md": { content: "tea\nü 🦀", encoding: "utf-8", ...TIMES },
      "/img.png": { content: base64, encoding: "base64", ...TIMES },
      "/data.bin": { content: base64, encoding: "base64", ...TIMES },
      "/old.md": { content: ["line 1", "tea", ""], ...TIMES },
      "/empty.md": { content: "", encoding: "utf-8", ...TIMES },
    };
    for (const [key, value] of Object.entries(values)) await store.put(NAMESPACE, key, value);
    expect((await backend.ls("/")).files?.map((it) => [it.path, it.size])).toEqual([
      ["/a.md", 8],
      ["/data.bin", base64.length],
      ["/empty.md", 0],
      ["/img.png", base64.length],
      ["/old.md", 11],
    ]);
    expect(await backend.read("/a.md")).toMatchObject({ content: "tea\nü 🦀", totalLines: 2 });
    expect(await backend.read("/img.png")).toEqual({ content: PNG, mimeType: "image/png" });
    expect((await backend.readRaw("/img.png")).data).toMatchObject({ content: PNG, ...TIMES });
    expect(await backend.read("/old.md")).toMatchObject({
      content: "line 1\ntea\n",
      totalLines: 2,
    });
    const found = await backend.downloadFiles(Object.keys(values));
    expect(found.map((it) => it.error)).toEqual([null, null, null, null, null]);
    expect(found[1]?.content).toEqual(PNG);
    expect(found[2]?.content).toEqual(PNG);
    const lines = (await backend.grep("tea")).matches;
    expect(lines?.map((it) => [it.path, it.line]).sort()).toEqual([
      ["/a.md", 1],
      ["/old.md", 2],
    ]);
    expect(await backend.edit("/old.md", "tea", "coffee")).toMatchObject({ occurrences: 1 });
    // As StoreBackend does, an edit keeps the form.
    const item = await store.get(NAMESPACE, "/old.md");
    expect(item?.value).toMatchObject({
      content: ["line 1", "coffee", ""],
      created_at: TIMES.created_at,
    });
  });

  it("each works on the files of the other", async () => {
    const { python, backend } = await both();
    await python(`
backend.write("/notes.md", "from Python\\n")
backend.upload_files([("/img.png", PNG), ("/d/x.txt", "Grüße".encode())])
`);
    expect((await backend.read("/notes.md")).content).toBe("from Python\n");
    expect((await backend.downloadFiles(["/img.png"]))[0]?.content).toEqual(PNG);
    await backend.edit("/notes.md", "Python", "JavaScript");
    await backend.write("/mine.md", "tea\n");
    const said = await python(`
assert backend.read("/notes.md").file_data["content"] == "from JavaScript\\n"
assert backend.edit("/notes.md", "from", "by").occurrences == 1
assert [it["path"] for it in backend.ls("/").entries] == ["/d/", "/img.png", "/mine.md", "/notes.md"]
assert [it["path"] for it in backend.grep("tea").matches] == ["/mine.md"]
assert backend.delete("/d").error is None
print(sorted(it["path"] for it in backend.glob("*.md").matches))
`);
    expect(said).toBe("['/mine.md', '/notes.md']");
    expect((await backend.read("/notes.md")).content).toBe("by JavaScript\n");
    expect((await backend.ls("/")).files?.map((it) => it.path)).toEqual([
      "/img.png",
      "/mine.md",
      "/notes.md",
    ]);
  });

  it("a binary file of JavaScript is bytes for Python", async () => {
    const { python, backend } = await both();
    await backend.uploadFiles([["/my.png", PNG]]);
    expect(await python(`print(store.get(NS, "/my.png").value["content"] == PNG)`)).toBe("True");
    // Python's StoreBackend knows no bytes in a value, and fails in listings too.
    expect(
      await python(`
try:
    backend.ls("/")
except TypeError as error:
    print("got bytes" in str(error))
`),
    ).toBe("True");
  });
});
