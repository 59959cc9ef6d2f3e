/** A page that calls the server as a console does, where the browser lends no more than on plain http. It is bundled for Chromium. */

import { Client, type ItemChange } from "threadkeep";

// On plain http outside of the own machine a browser has neither of both.
for (const name of ["randomUUID", "subtle"]) {
  Object.defineProperty(Crypto.prototype, name, { value: undefined });
}

const asked = new URLSearchParams(location.search);
const url = asked.get("url") ?? "";
const client = new Client({ url, apiKey: asked.get("key") ?? "" });

async function work(): Promise<unknown> {
  const { tenant } = await client.whoami();
  const changes = client.store.changes(["ann"]);
  const told: ItemChange[] = [];
  const next = async () => told.push((await changes.next()).value as ItemChange);
  await next();
  const version = await client.store.put(["ann", "notes"], "k", { text: "tea" }, { ifVersion: 0 });
  await next();
  changes.close();
  const item = await client.store.get(["ann", "notes"], "k");
  await client.store.delete(["ann", "notes"], "k", { ifVersion: version });

  const film = new Uint8Array((17 << 20) + 5).fill(7);
  const uploads: (string | undefined)[] = [];
  const stop = new AbortController();
  const sent = await client.uploads
    .send(["ann", "workspace"], "/film.bin", new Blob([film]), {
      signal: stop.signal,
      onProgress: ({ uploadId, sentBytes }) => {
        uploads.push(uploadId);
        if (sentBytes > 0) stop.abort(new Error("the page was left"));
      },
    })
    .catch((error: Error) => error.message);
  const [uploadId] = uploads;
  const stored = await client.uploads.send(["ann", "workspace"], "/film.bin", film, { uploadId });

  await client.drive.upload("/a.txt", new Blob(["cake"]), { subject: "ann" });
  const address = await client.drive.getUrl("/a.txt", { subject: "ann" });
  const opened = await (await fetch(address.url)).text();
  const download = await client.drive.download("/a.txt", { subject: "ann" });
  const downloaded = await new Response(download as ReadableStream<Uint8Array<ArrayBuffer>>).text();
  const entries = (await client.drive.list("/", { subject: "ann" })).entries.map((it) => it.path);
  await client.drive.delete("/a.txt", { subject: "ann" });

  const state = await client.checkpoints.state("talk");
  await client.threads.copy("talk", "copy");
  const wrong = await client.store.get(["a.b"], "k").catch((error: unknown) => ({
    ...(error as { code: string; field: string }),
  }));
  return {
    hasTenant: tenant !== "",
    hasUuid: typeof crypto.randomUUID,
    told: told.map((it) => (it.type === "change" ? `${it.kind} ${it.key} ${it.version}` : it.type)),
    ...{ version, value: item?.value, sent, sizeBytes: stored.sizeBytes },
    ...{ opened, downloaded, entries, values: state?.values, wrong },
  };
}

const shown = document.body.appendChild(document.createElement("pre"));
work().then(
  (found) => {
    shown.textContent = JSON.stringify(found);
  },
  (error: unknown) => {
    shown.textContent = JSON.stringify({ error: String(error) });
  },
);
