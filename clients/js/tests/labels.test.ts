/** Labels by the vectors that every client is held to. */

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { InvalidError, label, labelWithColons } from "../src/index.js";

const VECTORS = JSON.parse(
  readFileSync(new URL("../../../tests/vectors/labels.json", import.meta.url), "utf8"),
) as { subject: string; label: string; with_colons?: string }[];

it("labels are those of the server", () => {
  expect(VECTORS.length).toBeGreaterThan(10);
  for (const vector of VECTORS) {
    expect(label(vector.subject)).toBe(vector.label);
    expect(labelWithColons(vector.subject)).toBe(vector.with_colons ?? vector.label);
    expect(vector.label).not.toContain(":");
  }
  expect(() => label("\ud800")).toThrow(InvalidError);
});
