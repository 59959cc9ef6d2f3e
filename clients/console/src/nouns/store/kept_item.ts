/** Reads and puts items as their JSON text, so that what is put back is what was there. */

import type { Client } from "threadkeep";
import { indentJson } from "../../content/json_text.js";
import type { Versioned } from "../../content/versioned_edit.js";

export interface ItemName {
  namespace: string[];
  itemKey: string;
}

/** An item as a person edits it. To look at it is no use of it: its life is not extended. */
export async function loadItem(
  client: Client,
  { namespace, itemKey }: ItemName,
  signal?: AbortSignal,
): Promise<Versioned | undefined> {
  const found = await client.store.getText(namespace, itemKey, { refreshTtl: false, signal });
  if (!found) return undefined;
  const { text, version, ttlMinutes } = found;
  return { text: indentJson(text), stored: text, version, ttlMinutes };
}

/** The text of the value of this version, which must be the present one. */
export async function storedText(
  client: Client,
  { namespace, itemKey }: ItemName,
  version: number,
): Promise<string> {
  const found = await client.store.getText(namespace, itemKey, { refreshTtl: false });
  if (found?.version !== version) throw new Error("the item has changed");
  return found.text;
}

/** Puts a text in place of the version `ifVersion`, with the time to live that the item had. */
export async function putItem(
  client: Client,
  { namespace, itemKey }: ItemName,
  text: string,
  { ttlMinutes }: Pick<Versioned, "ttlMinutes">,
  ifVersion: number,
): Promise<number> {
  return await client.store.putText(namespace, itemKey, text, { ttlMinutes, ifVersion });
}
