/** The page for people, opened in Chromium: it asks no other host for anything, and nothing in it goes wrong. */

import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { Browser } from "../support/chromium.js";
import { ENGINES } from "../support/servers.js";
import { PATIENCE_MS } from "../support/settings.js";

let browser: Browser;
beforeAll(async () => {
  browser = await Browser.open();
});
afterAll(async () => browser.close());

/** Opens an address; whom the page asked, and what its console says. */
async function open(url: string, act: (text: string) => Promise<void> = async () => {}) {
  const page = await browser.context.newPage();
  const [asked, said]: [string[], string[]] = [[], []];
  page.on("request", (request) => asked.push(request.url()));
  page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => said.push(error.message));
  page.on("requestfailed", (request) => said.push(`failed: ${request.url()}`));
  await page.goto(url, { waitUntil: "load" });
  await page.waitForLoadState("networkidle");
  await act(await page.locator("body").innerText());
  const style = await page.evaluate(() => getComputedStyle(document.body).display);
  const targets = await page.evaluate(() =>
    [...document.querySelectorAll<HTMLAnchorElement>("a[href^='#']")]
      .map((it) => decodeURIComponent(it.hash.slice(1)))
      .filter((id) => !document.getElementById(id)),
  );
  await page.close();
  return { asked, said, style, targets };
}

describe.each(ENGINES)("on %s", (engine) => {
  it("the page asks only its own server, and its console says nothing", async () => {
    const { url } = inject("servers")[engine];
    const paths = async (document: string) =>
      Object.keys(
        ((await (await fetch(`${url}${document}`)).json()) as { paths: Record<string, object> })
          .paths,
      );
    const documented = [
      ...(await paths("/openapi.json")),
      ...(await paths("/agentrail/openapi.json")),
    ];

    const page = await open(`${url}/docs`, async (text) => {
      const missing = documented.filter((path) => !text.includes(path));
      expect(missing).toEqual([]);
    });

    expect(page.said).toEqual([]);
    expect(page.asked.length).toBeGreaterThan(0);
    const hosts = page.asked
      .filter((it) => !it.startsWith("data:"))
      .map((it) => new URL(it).origin);
    expect([...new Set(hosts)]).toEqual([url]);
    expect(page.targets).toEqual([]);
    // The style is applied: the policy lets it pass.
    expect(page.style).toBe("grid");
  });

  it("the console would have said what the policy stops", async () => {
    const { url } = inject("servers")[engine];
    const page = await browser.context.newPage();
    const said: string[] = [];
    page.on("console", (message) => said.push(message.text()));
    await page.goto(`${url}/docs`);
    await page.evaluate(() => {
      const image = new Image();
      image.src = "http://127.0.0.1:9/other-host.png";
      document.body.append(image);
    });
    await expect
      .poll(() => said.join("\n"), { timeout: PATIENCE_MS })
      .toContain("Content Security Policy");
    await page.close();
  });
});
