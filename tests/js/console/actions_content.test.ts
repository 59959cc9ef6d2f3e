/** Items and files are changed by clicks, and the client sees what became of them. */

import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Client } from "threadkeep";
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { open, replaceText, send, undo } from "./acting.js";
import { violations } from "./axe.js";
import { Stage } from "./stage.js";

const FILES = ["ann", "work"];
const encode = (text: string) => new TextEncoder().encode(text);
let stage: Stage;
let client: Client;
let tests = 0;
/** A namespace of the test's own. */
let notes: string[];
let address: string;

beforeAll(async () => {
  stage = await Stage.open();
  client = new Client({ url: stage.server.url });
});

beforeEach(() => {
  tests += 1;
  notes = ["ann", `notes${tests}`];
  address = `#/store/${notes.join("/")}`;
});

afterEach(() => stage.closePages());

afterAll(() => stage.close());

async function contentOf(path: string): Promise<string> {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(
    await client.files.getContent(FILES, path),
  );
}

it("an item is made, edited exactly and deleted, each with Undo", async () => {
  const opened = await stage.page(address);
  const { page } = opened;
  let dialog = await open(page, "New item", "New item");
  await replaceText(dialog, "Key", "tea");
  await replaceText(dialog, "Value, an object of JSON", `{"n": 1.0, "big": ${2n ** 70n}}`);
  expect(await violations(page)).toEqual([]);
  await send(dialog, "Put");
  await page.getByRole("heading", { name: "tea" }).waitFor();
  const text = async () => (await client.store.getText(notes, "tea"))?.text;
  expect(await text()).toBe(`{"n":1.0,"big":${2n ** 70n}}`);

  dialog = await open(page, "Edit", "Edit the item");
  const field = dialog.getByLabel("Value, an object of JSON");
  await field.waitFor();
  await field.fill((await field.inputValue()).replace("{", '{"new": [true, null],'));
  await send(dialog, "Save");
  expect(await text()).toBe(`{"new":[true,null],"n":1.0,"big":${2n ** 70n}}`);
  await undo(page, "The item is as it was.");
  expect(await text()).toBe(`{"n":1.0,"big":${2n ** 70n}}`);

  dialog = await open(page, "Delete", "Delete the item");
  await send(dialog, "Delete");
  expect(await text()).toBeUndefined();
  await undo(page, "The item is there again.");
  expect(await text()).toBe(`{"n":1.0,"big":${2n ** 70n}}`);
  await stage.expectQuiet(opened);
});

it("two who edit an item lose nothing: one takes what is stored, or replaces it", async () => {
  await client.store.put(notes, "plan", { a: 1, b: 2 }, { ttlMinutes: 90 });
  const { page } = await stage.page(`${address}?key=plan`);
  const dialog = await open(page, "Edit", "Edit the item");
  const field = dialog.getByLabel("Value, an object of JSON");
  await field.waitFor();
  await field.fill('{\n  "a": 5,\n  "b": 2\n}');
  await client.store.put(notes, "plan", { a: 1, b: 7 }, { ttlMinutes: 60 });
  await dialog.getByRole("button", { name: "Save" }).click();
  const conflict = dialog.getByRole("region", { name: "Conflict" });
  await conflict.waitFor();
  expect(await conflict.locator(".side-removed, .side-added").count()).toBe(4);
  expect((await client.store.get(notes, "plan"))?.value).toEqual({ a: 1, b: 7 });
  await conflict.getByRole("button", { name: "Take what is stored" }).click();
  expect(JSON.parse(await field.inputValue())).toEqual({ a: 1, b: 7 });
  await field.fill('{"a": 6, "b": 7}');
  // Faster once more: now one's own takes the place of the other.
  await client.store.put(notes, "plan", { a: 0 }, { ttlMinutes: 60 });
  await dialog.getByRole("button", { name: "Save" }).click();
  await conflict.waitFor();
  await send(dialog, "Save");
  expect(await client.store.get(notes, "plan")).toMatchObject({
    value: { a: 6, b: 7 },
    ttlMinutes: 60,
  });
  await undo(page, "The item is as it was.");
  expect((await client.store.get(notes, "plan"))?.value).toEqual({ a: 0 });
});

it("an earlier version is put again", async () => {
  await client.store.putSetting(notes, { history: 5 });
  const first = await client.store.put(notes, "plan", { step: "first" });
  await client.store.put(notes, "plan", { step: "second" });
  const { page } = await stage.page(`${address}?key=plan`);
  await page.getByRole("group", { name: `Actions of version ${first}` }).waitFor();
  const dialog = await open(page, "Restore", `Restore version ${first}`);
  await dialog.locator(".side-added", { hasText: "first" }).waitFor();
  expect(await violations(page)).toEqual([]);
  await send(dialog, "Restore");
  expect((await client.store.get(notes, "plan"))?.value).toEqual({ step: "first" });
  await undo(page, "It is as it was before the restore.");
  expect((await client.store.get(notes, "plan"))?.value).toEqual({ step: "second" });
});

it("files are uploaded, a large one in parts, and none is replaced by mistake", async () => {
  const large = randomBytes(17 << 20);
  const [small, big] = [join(stage.server.folder, "a.txt"), join(stage.server.folder, "big.bin")];
  writeFileSync(small, "one\n");
  writeFileSync(big, large);
  const { page } = await stage.page(`#/files/ns/${FILES.join("/")}?path=%2Fin%2F`);
  let dialog = await open(page, "Upload", "Upload files");
  expect(await violations(page)).toEqual([]);
  const parts: string[] = [];
  page.on("request", (request) => {
    if (request.url().includes("/parts/")) parts.push(request.url());
  });
  await dialog.getByLabel("Files", { exact: true }).setInputFiles([small, big]);
  await send(dialog, "Upload");
  await page.getByRole("link", { name: "big.bin" }).waitFor();
  expect(parts.length).toBe(5);
  expect(await contentOf("/in/a.txt")).toBe("one\n");
  expect(large.equals(await client.files.getContent(FILES, "/in/big.bin"))).toBe(true);

  writeFileSync(small, "two\n");
  dialog = await open(page, "Upload", "Upload files");
  await dialog.getByLabel("Files", { exact: true }).setInputFiles(small);
  await dialog.getByRole("button", { name: "Upload", exact: true }).click();
  await dialog.getByText("a.txt is there already").waitFor();
  expect(await contentOf("/in/a.txt")).toBe("one\n");
  await dialog.getByLabel("Replace files that are there").check();
  await send(dialog, "Upload");
  expect(await contentOf("/in/a.txt")).toBe("two\n");
});

it("a text file is made, edited with its line ends, and edited by two", async () => {
  const { page } = await stage.page(`#/files/ns/${FILES.join("/")}`);
  let dialog = await open(page, "New file", "New file");
  await replaceText(dialog, "Name", "docs/new.md");
  await replaceText(dialog, "Content", "# New\n");
  await send(dialog, "Create");
  expect(await contentOf("/docs/new.md")).toBe("# New\n");
  await client.files.putContent(FILES, "/win.txt", encode("\ufeffa\r\nb\r\n"));
  await stage.go(page, `#/files/ns/${FILES.join("/")}?path=%2Fwin.txt`);
  await page.getByRole("heading", { name: "/win.txt" }).waitFor();
  dialog = await open(page, "Edit", "Edit the file");
  const field = dialog.getByLabel("Content");
  await field.waitFor();
  await field.fill((await field.inputValue()).replace("b", "c"));
  await client.files.write(FILES, "/win.txt", "theirs\r\n");
  await dialog.getByRole("button", { name: "Save" }).click();
  const conflict = dialog.getByRole("region", { name: "Conflict" });
  await conflict.waitFor();
  await conflict.locator(".side-removed", { hasText: "theirs" }).waitFor();
  await send(dialog, "Save");
  expect(await contentOf("/win.txt")).toBe("\ufeffa\r\nc\r\n");
  await undo(page, "The file is as it was.");
  expect(await contentOf("/win.txt")).toBe("theirs\r\n");
  // What a field of a page would change by itself is not edited there.
  await client.files.putContent(FILES, "/mixed.txt", encode("a\r\nb\n"));
  await stage.go(page, `#/files/ns/${FILES.join("/")}?path=%2Fmixed.txt`);
  await page.getByRole("heading", { name: "/mixed.txt" }).waitFor();
  await page.locator(".bytes-view").waitFor();
  dialog = await open(page, "Edit", "Edit the file");
  await dialog.getByText("Download this file").waitFor();
});

it("a file and a folder are moved and deleted", async () => {
  for (const name of ["one", "two"]) {
    await client.files.putContent(FILES, `/box/${name}.txt`, encode(name));
  }
  const { page } = await stage.page(`#/files/ns/${FILES.join("/")}?path=%2Fbox%2Fone.txt`);
  await page.locator(".bytes-view").waitFor();
  let dialog = await open(page, "Rename or move", "Rename or move");
  await replaceText(dialog, "New path", "/box/two.txt");
  await dialog.getByRole("button", { name: "Move", exact: true }).click();
  await dialog.getByText("There is something at this path already").waitFor();
  await replaceText(dialog, "New path", "/box/first.txt");
  await send(dialog, "Move");
  await page.getByRole("heading", { name: "/box/first.txt" }).waitFor();
  expect(await contentOf("/box/first.txt")).toBe("one");
  await undo(page, "It is where it was.");
  expect(await contentOf("/box/one.txt")).toBe("one");
  await page.getByRole("heading", { name: "/box/one.txt" }).waitFor();

  const before = await client.store.getText(FILES, "/box/one.txt");
  dialog = await open(page, "Delete", "Delete the file");
  await send(dialog, "Delete");
  expect(await client.files.stat(FILES, "/box/one.txt")).toBeUndefined();
  await undo(page, "The file is there again.");
  expect((await client.store.getText(FILES, "/box/one.txt"))?.text).toBe(before?.text);

  dialog = await open(page, "Delete", "Delete the folder");
  await dialog.getByText("It removes 2 files").waitFor();
  await dialog.getByLabel("Type the name to confirm").fill("/box");
  await send(dialog, "Delete");
  expect((await client.files.ls(FILES, "/box/")).entries).toEqual([]);
  await page.getByRole("link", { name: "a snapshot" }).click();
  await page.getByText("namespace ann / work").first().waitFor();
});

it("the drive of a subject is the same files", async () => {
  const { page } = await stage.page("#/files/drive?subject=eve%40acme.test");
  let dialog = await open(page, "New file", "New file");
  await replaceText(dialog, "Name", "memories/likes.md");
  await replaceText(dialog, "Content", "tea");
  await send(dialog, "Create");
  await page.getByRole("heading", { name: "/memories/likes.md" }).waitFor();
  const { entries } = await client.drive.list("/memories/", { subject: "eve@acme.test" });
  expect(entries.map(({ name }) => name)).toEqual(["likes.md"]);
  dialog = await open(page, "Rename or move", "Rename or move");
  await replaceText(dialog, "New path", "/workspace/likes.md");
  await send(dialog, "Move");
  await page.getByText("tea", { exact: true }).waitFor();
  const stream = await client.drive.download("/likes.md", { subject: "eve@acme.test" });
  expect(await new Response(stream).text()).toBe("tea");
});
