/** Random operations on files, and what a backend answers to them as far as two backends can be compared. */

import type { BackendProtocolV2, FileInfo, GrepMatch } from "deepagents";
import fc from "fast-check";

export type Whole = Required<BackendProtocolV2>;

export interface Operation {
  name: string;
  run: (backend: Whole) => unknown;
}

const TEXTS = [
  ...["/a.md", "/b.txt", "/Z.md", "/d/a.md", "/d/e/c.md", "/d.md", "/D/x.py", "/d/.env", "/ü.md"],
  ...["/a b.md", "/.hidden", "/noext", "/d/e/f/g.json", "/x.svg", "/d", "/9.UPPER", "/a-1.md"],
];
const BINARIES = ["/img.png", "/d/doc.pdf", "/d/e/SONG.MP3", "/d/e/é.jpeg"];
const FOLDERS = ["/", "", "/d", "/d/", "/d/e", "/d/e/", "/D/", "/absent", "/absent/", "d", "/a.md"];
const CONTENTS = [
  ...["", "\n", "\n\n", "x", "x\ny\nz", "tea\n", "tea tea\ntea\n", "\r\nlines\r\n", " ", "aaaa"],
  ...["ü 🦀\u2028x\u0085y\n", "no end", "tab\tand\0nul\n", `${"long ".repeat(700)}\ntea`],
  Array.from({ length: 620 }, (_, at) => `line ${at}`).join("\n"),
];
const OLD = ["tea", "x", "", "\n", "aa", "line 1", "🦀", "\r\n", "no end\n", "absent", "y\nz", "a"];
const SOUGHT = ["tea", "x", "line 61", "", "🦀", ".", "a", "\r", "TEA", "t.a", "\n", "\0"];
const PATTERNS = [
  ...["*", "*.md", "**", "**/*", "**/*.md", "d/*", "d/**", "*.{md,txt}", "?.md", "[ab].md", "/d/*"],
  ...[
    "../*",
    "**/e/**",
    "*.MP3",
    ".*",
    "*.py",
    "{a,d}/*",
    "a.md",
    "d/a.md",
    "*ü*",
    "* *",
    "[!a].md",
  ],
  ...["d", "**/.*", "d/**/*.json", "[a-z]*", "x*y", "\\*.md", "*.j*g", "a?*.md", "**.md", "d/*/*"],
];

const content = fc.constantFrom(...CONTENTS);
const bytes = fc.uint8Array({ maxLength: 40 });
const count = fc.constantFrom(-1, 0, 1, 2, 3, 500, 619, 620, 10_000, 1.7, Number.NaN);
const pattern = fc.constantFrom(...PATTERNS);

/** What happens to a few files: they are many times replaced, edited, deleted and found. */
export const operations = fc
  .tuple(
    fc.subarray(TEXTS, { minLength: 3, maxLength: 6 }),
    fc.subarray(BINARIES, { minLength: 1, maxLength: 2 }),
  )
  .chain(([texts, binaries]) => {
    const text = fc.constantFrom(...texts);
    const binary = fc.constantFrom(...binaries);
    const path = fc.oneof(
      { weight: 12, arbitrary: text },
      { weight: 2, arbitrary: binary },
      fc.constantFrom("/absent.md", ...FOLDERS),
    );
    const first = fc
      .tuple(...texts.map((it) => fc.tuple(fc.constant(it), content.map(encoded))))
      .map(uploadOf);
    const more = fc.array(fc.oneof(...changes(text, binary, path), ...reads(path)), {
      minLength: 1,
      maxLength: 25,
    });
    return fc.tuple(first, more).map(([upload, rest]) => [upload, ...rest]);
  });

type Text = fc.Arbitrary<string>;
type Weighted = { weight: number; arbitrary: fc.Arbitrary<Operation> };

function changes(text: Text, binary: Text, path: Text): Weighted[] {
  const base64 = bytes.map((it) => Buffer.from(it).toString("base64"));
  const write = fc
    .oneof({ weight: 4, arbitrary: fc.tuple(text, content) }, fc.tuple(binary, base64))
    .map((args) => operation("write", args, (it) => it.write(...args)));
  const edit = fc
    .tuple(path, fc.constantFrom(...OLD), fc.constantFrom("", "tea", "x\n", "b🦀"), fc.boolean())
    .map((args) => operation("edit", args, (it) => it.edit(...args)));
  const remove = path.map((at) => operation("delete", [at], (it) => it.delete(at)));
  const file = fc.oneof(fc.tuple(binary, bytes), fc.tuple(text, content.map(encoded)));
  const upload = fc.array(file, { maxLength: 4 }).map(uploadOf);
  return [
    { weight: 4, arbitrary: write },
    { weight: 6, arbitrary: edit },
    { weight: 1, arbitrary: remove },
    { weight: 2, arbitrary: upload },
  ];
}

function reads(path: Text): Weighted[] {
  const folder = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...FOLDERS) }, path);
  const read = fc
    .tuple(path, count, count)
    .map((args) => operation("read", args, (it) => it.read(...args)));
  const readPlain = path.map((at) => operation("read", [at], (it) => it.read(at)));
  const readRaw = path.map((at) => operation("readRaw", [at], (it) => rawOf(it, at)));
  const ls = folder.map((at) => operation("ls", [at], async (it) => timeless(await it.ls(at))));
  const glob = fc
    .tuple(pattern, fc.option(folder, { nil: undefined }))
    .map((args) =>
      operation("glob", args, async (it) => unordered(timeless(await it.glob(...args)))),
    );
  const grep = fc
    .tuple(
      fc.constantFrom(...SOUGHT),
      fc.option(folder, { nil: null }),
      fc.option(pattern, { nil: null }),
    )
    .map((args) => operation("grep", args, async (it) => unordered(await it.grep(...args))));
  const most = fc.constantFrom(0, 1, 2, 5, 619, 620, 2_000);
  const grepSome = fc
    .tuple(fc.constantFrom("tea", "line", "absent"), most)
    .map((args) => operation("grep some", args, (it) => someOf(it, ...args)));
  const download = fc
    .array(path, { maxLength: 4 })
    .map((paths) => operation("download", paths, (it) => contentsOf(it, paths)));
  return [
    { weight: 4, arbitrary: read },
    { weight: 3, arbitrary: glob },
    { weight: 3, arbitrary: grep },
    { weight: 2, arbitrary: ls },
    ...[readPlain, readRaw, grepSome, download].map((arbitrary) => ({ weight: 1, arbitrary })),
  ];
}

function uploadOf(files: [string, Uint8Array][]): Operation {
  return operation("upload", files, (it) => it.uploadFiles(files));
}

async function rawOf(backend: Whole, path: string): Promise<unknown> {
  const { data, error } = await backend.readRaw(path);
  if (!data) return { error };
  return { content: data.content, mimeType: "mimeType" in data ? data.mimeType : undefined };
}

/** Which of too many come first is nobody's promise. */
async function someOf(backend: Whole, text: string, most: number): Promise<unknown> {
  const { matches, truncated } = await backend.grep(text, "/", null, most);
  return { count: matches?.length, truncated: truncated === true };
}

async function contentsOf(backend: Whole, paths: string[]): Promise<unknown[]> {
  const found = await backend.downloadFiles(paths);
  return found.map((it) => ({
    ...it,
    content: it.content && Buffer.from(it.content).toString("hex"),
  }));
}

function encoded(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Everything that is there, and each file. */
export async function everything(backend: Whole): Promise<unknown> {
  const { files = [] } = await backend.glob("**/*");
  const paths = files.map((it) => it.path).sort();
  return await contentsOf(backend, paths);
}

function operation(
  name: string,
  args: readonly unknown[],
  run: (backend: Whole) => unknown,
): Operation {
  return { name: `${name} ${JSON.stringify(args).slice(0, 120)}`, run };
}

/** Times are those of two clocks. */
function timeless<T extends { files?: FileInfo[] }>(result: T): T {
  const files = result.files?.map((file) => ({ ...file, modified_at: file.modified_at !== "" }));
  return (files ? { ...result, files } : result) as T;
}

/** The order among files of one instant, and of lines between files, is nobody's promise. */
function unordered<T extends { files?: FileInfo[]; matches?: GrepMatch[] }>(result: T): unknown {
  const { files, matches, ...more } = result;
  const key = (it: FileInfo | GrepMatch) => JSON.stringify([it.path, "line" in it ? it.line : 0]);
  const sorted = [...(files ?? matches ?? [])].sort((a, b) => (key(a) < key(b) ? -1 : 1));
  return { ...more, isList: Boolean(files ?? matches), sorted };
}
