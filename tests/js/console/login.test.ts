/** Who comes in, and where a credential is: in the storage of the tab and in the header of requests, nowhere else. */

import { Client } from "threadkeep";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { newKey } from "../support/server.js";
import { plan } from "./agents.js";
import { Stage } from "./stage.js";

let stage: Stage;
let key: string;
let client: Client;

beforeAll(async () => {
  stage = await Stage.open();
  key = await newKey(stage.server.place);
  client = new Client({ url: stage.server.url, apiKey: key });
  await plan({ url: stage.server.url, apiKey: key }, "trip");
});

afterEach(() => stage.closePages());

afterAll(() => stage.close());

it("a key comes in, goes on to the wanted page, and stays over a reload", async () => {
  const { page } = await stage.page("#/threads/trip");
  await page.getByLabel("Key or token").fill(key);
  expect(await page.getByLabel("Key or token").getAttribute("type")).toBe("password");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("heading", { name: "Plan a trip by boat" }).waitFor();
  expect(page.url()).toMatch(/#\/threads\/trip$/);
  await page.reload();
  await page.getByRole("heading", { name: "Plan a trip by boat" }).waitFor();
  const kept = await page.evaluate(() => [
    Object.values(sessionStorage).join(),
    Object.values(localStorage).join(),
    document.cookie,
    location.href,
    document.documentElement.outerHTML,
  ]);
  expect(kept.map((text) => text.includes(key))).toEqual([true, false, false, false, false]);
  // Another tab has to be asked again.
  const other = await stage.page("#/threads/trip");
  await other.page.getByLabel("Key or token").waitFor();
});

it("a wrong key is refused, and said so", async () => {
  const { page } = await stage.page();
  await page.getByLabel("Key or token").fill("tk_wrong");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByText("The server does not know this key or token").waitFor();
  expect(await page.evaluate(() => sessionStorage.length)).toBe(0);
  await page.getByLabel("Key or token").fill("not ascii: ü");
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByText("The server refused it").waitFor();
});

it("a link with a token comes in, and the token is out of the address before the first request", async () => {
  const { token } = await client.tokens.mint({
    ttlSeconds: 600,
    grants: { threads: [{ id: "trip", actions: ["read"] }] },
  });
  const { page } = await stage.page("#/nowhere");
  // What the address is at each request of the page.
  await page.addInitScript(() => {
    const noting = window as { addresses?: string[] };
    noting.addresses = [];
    const send = window.fetch.bind(window);
    window.fetch = (...given) => {
      noting.addresses?.push(location.href);
      return send(...given);
    };
  });
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.goto("about:blank");
  await page.goto(`${stage.url}#/login?token=${token}`);
  await page.getByRole("link", { name: "Threads", exact: true }).click();
  // A token for single threads lists none: its grants are the list.
  await page.getByRole("link", { name: "trip" }).click();
  await page.getByRole("heading", { name: "Plan a trip by boat" }).waitFor();
  const addresses = await page.evaluate(() => (window as { addresses?: string[] }).addresses ?? []);
  expect(addresses.length).toBeGreaterThan(0);
  expect([...addresses, ...asked].filter((one) => one.includes(token))).toEqual([]);
  await page.goBack();
  await page.goBack();
  expect(page.url()).not.toContain(token);
});

it("a link in an open page is taken, too", async () => {
  const { token } = await client.tokens.mint({ subject: "ann@acme.test", ttlSeconds: 600 });
  const { page } = await stage.page();
  await page.getByLabel("Key or token").waitFor();
  await stage.go(page, `#/login?token=${token}`);
  await page.getByRole("heading", { name: "Home" }).waitFor();
  expect(page.url()).not.toContain(token);
});

it("a revoked token opens a sheet over the page, and a new key goes on there", async () => {
  const grants = { threads: [{ id: "trip", actions: ["read" as const] }] };
  const { token, tokenId } = await client.tokens.mint({ ttlSeconds: 600, grants });
  const { page } = await stage.page(`#/login?token=${token}`);
  await page.getByRole("heading", { name: "Home" }).waitFor();
  await stage.go(page, "#/threads/trip/state");
  const channel = page.locator("details.channel", { hasText: "messages" });
  await channel.locator("summary").click();
  await channel.getByText("[6 entries]").waitFor();
  await client.tokens.revoke({ tokenId });
  const sheet = page.getByRole("dialog", { name: "The server asks for a new key or token" });
  await sheet.waitFor();
  expect(await channel.getByText("[6 entries]").count()).toBe(1);
  const next = await client.tokens.mint({ ttlSeconds: 600, grants });
  await sheet.getByLabel("Key or token").fill(next.token);
  await sheet.getByRole("button", { name: "Continue" }).click();
  await sheet.waitFor({ state: "detached" });
  // The page below is as it was.
  expect(await channel.getByText("[6 entries]").count()).toBe(1);
});

it("two keys of a tab can be switched, and signing out forgets the one", async () => {
  const other = await newKey(stage.server.place);
  const { page } = await stage.page(`#/login?token=${key}`);
  const tenant = (await client.whoami()).tenant;
  await page.getByRole("button", { name: tenant }).click();
  const dialog = page.getByRole("dialog", { name: "Keys of this tab" });
  await dialog.getByLabel("Key or token").fill(other);
  await dialog.getByRole("button", { name: "Continue" }).click();
  await page.getByText("The server keeps no threads of this tenant yet").waitFor();
  const { tenant: second } = await new Client({ url: stage.server.url, apiKey: other }).whoami();
  await page.getByRole("button", { name: second }).click();
  await dialog.getByRole("button", { name: new RegExp(tenant) }).click();
  await page.getByRole("link", { name: "Plan a trip by boat" }).waitFor();
  await page.getByRole("button", { name: tenant }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByText("The server keeps no threads of this tenant yet").waitFor();
  const kept = await page.evaluate(() => Object.values(sessionStorage).join());
  expect([kept.includes(key), kept.includes(other)]).toEqual([false, true]);
});
