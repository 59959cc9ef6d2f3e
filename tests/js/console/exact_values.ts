/** Values that no copy may change, and where they are stored. */

import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { Client } from "threadkeep";
import { ThreadkeepSaver } from "threadkeep/langgraph";
import { packed } from "../support/messagepack.js";
import { putStep } from "./large_threads.js";

/** JSON text that no parser of JavaScript gives back. */
export const EXACT = `{${[
  String.raw`"lone":"\ud800","\udc00 in a name":1,"pair":"\ud83d\ude00","nul":"a\u0000b"`,
  `"big":${2n ** 70n},"one":1,"float":1.0,"zero":-0.0,"hundred":1E2`,
  `"opaque":{"$opaque":{"codec":"pickle","size_bytes":3,"reason":"no"}}`,
  `"cut":{"$cut":{"size_bytes":9,"head":"x","pointer":"/a"}}`,
].join(",")}}`;

const encode = (text: string) => new TextEncoder().encode(text);
/** So long that the page gets its beginning. */
export const LONG = `begin ${"é\0\u{1f600}".repeat(20_000)} end`;
/** It has no encoding in UTF-8. */
export const LONE = LONG.replaceAll("é", "\ud800");

/** What is stored of each channel: codec and bytes. */
export const CHANNELS: Record<string, [codec: string, data: Uint8Array]> = {
  exact: ["json", encode(EXACT)],
  long: ["json", encode(JSON.stringify(LONG))],
  lone: ["json", encode(JSON.stringify(LONE))],
  packed: ["msgpack", packed({ one: 1, text: "a\0b", list: [true, "é"] })],
  pickled: ["pickle", new Uint8Array([0x80, 0x05, 0x4e, 0x00, 0x2e])],
};
export const NAMESPACE = ["ann", "exact"];
export const SESSION = { kind: "claude", key: ["exact"] };
/** A mark at the beginning, NUL, no UTF-8, and ends of lines. */
export const FILES: Record<string, Uint8Array> = {
  "/bytes.bin": new Uint8Array([0xef, 0xbb, 0xbf, 0x00, 0xff, 0xc3, 0x0d, 0x0a, 0x0d]),
  "/marked.txt": encode("\ufeff# a\r\nb\n"),
  // Half of a pair, as UTF-8 would write it.
  "/half.txt": new Uint8Array([0x78, 0xed, 0xa0, 0x80]),
};

/** Puts the values in channels, metadata, an item, a document and files. */
export async function putExact(url: string, thread: string): Promise<void> {
  const serde: SerializerProtocol = {
    dumpsTyped: async (name: string) => CHANNELS[name] ?? ["json", encode("null")],
    loadsTyped: async () => null,
  };
  const saver = new ThreadkeepSaver({ url, serde });
  const names = Object.keys(CHANNELS);
  const versions = Object.fromEntries(names.map((name) => [name, 1]));
  const values = Object.fromEntries(names.map((name) => [name, name]));
  await putStep(saver, { thread, id: "c1", step: 0, values, versions, fresh: versions });
  const client = new Client({ url });
  await client.threads.update(thread, { metadataText: EXACT, replaceMetadata: true });
  await client.store.putText(NAMESPACE, "item", EXACT);
  await client.store.put(NAMESPACE, "lone", { text: LONE });
  await client.sessions.append(SESSION, [{ data: { type: "user" } }]);
  await client.sessions.putDocument(SESSION, "document", EXACT);
  for (const [path, bytes] of Object.entries(FILES)) {
    await client.files.putContent(NAMESPACE, path, bytes);
  }
}
