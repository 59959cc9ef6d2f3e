/** Runs axe-core in pages of the console. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** What a page breaks of the rules. Axe runs under the policy of the page. */
export async function violations(page: Page): Promise<unknown[]> {
  await page.evaluate(AXE);
  const { violations: found } = await page.evaluate(
    (values) =>
      (window as unknown as { axe: { run(options: object): Promise<AxeResults> } }).axe.run({
        runOnly: { type: "tag", values },
      }),
    TAGS,
  );
  return found.map(({ id, nodes }) => ({
    id,
    at: nodes.map(({ html, failureSummary }) => [html, failureSummary]),
  }));
}
