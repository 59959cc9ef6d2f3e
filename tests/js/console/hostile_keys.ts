/** A tenant whose key names, subjects, threads and namespaces of its audit log mean harm. */

import type { Page } from "playwright-core";
import { Client } from "threadkeep";

const NAME_BYTES_MAX = 100;
const EVENTS = 40;

/** Keys, and acts on things, of these names. */
export async function keepKeys(url: string, key: string, ids: readonly string[]): Promise<void> {
  const client = new Client({ url, apiKey: key });
  const isName = (text: string) =>
    Buffer.byteLength(text) <= NAME_BYTES_MAX && !/\p{Cc}/u.test(text) && text.trim() !== "";
  for (const text of ids.filter(isName)) await client.keys.create({ name: text, subject: text });
  for (const text of ids.slice(0, EVENTS)) {
    await client.threads.create({ threadId: text });
    await client.putRetentionPolicy({ threadId: text, keepLast: 1 });
    const label = text.replaceAll(".", "");
    if (label !== "") await client.store.putSetting([label], { history: 2 });
  }
  await client.runRetention();
}

/** Types a text into each field of the forms of keys, tokens and subjects, and looks at what they make of it. */
export async function fillForms(page: Page, text: string): Promise<void> {
  const open = async (action: string) => {
    await page.getByRole("button", { name: action, exact: true }).click();
    const dialog = page.getByRole("dialog", { name: action });
    await dialog.waitFor();
    return dialog;
  };
  const token = await open("Make a token");
  await token.getByLabel("Name", { exact: true }).fill(text);
  await token.getByLabel("Subject").fill(text);
  await token.getByText("It speaks for").waitFor();
  await token.getByText("JSON of the request").click();
  await token.getByText("Show as code").click();
  await token.getByLabel("It may do").selectOption("everything that the subject has");
  await token.getByRole("button", { name: "Make", exact: true }).click();
  await page.getByRole("dialog", { name: "The new token" }).getByText("everything that").waitFor();
  await page.keyboard.press("Escape");
  const erasing = await open("Erase a subject");
  await erasing.getByLabel("Subject").fill(text);
  await erasing.getByLabel("Type the name to confirm").fill(text);
  await erasing.getByRole("button", { name: "Erase", exact: true }).click();
  await page.getByRole("dialog", { name: "The receipt" }).getByText("was erased").waitFor();
  await page.keyboard.press("Escape");
}
