/** The navigation: what each kind of credential sees. */

import type { Grants, Identity } from "threadkeep";
import { expect, it } from "vitest";
import { hasWholeTenant, maySee } from "../src/api/grants.js";
import { sectionOf, sectionsOf, shownTo } from "../src/app/sections.js";

function by(changes: Partial<Identity>): Identity {
  return { tenant: "acme", credential: "key_1", ...changes } as Identity;
}

function titles(identity: Identity): string[] {
  return sectionsOf(identity).map(({ title }) => title);
}

const NOUNS = ["threads", "namespaces", "sessions", "snapshots", "tenant", "access"] as const;
/** Servers answer no grants for an operator; a list that is absent must not open everything. */
const OPERATORS: [string, Grants | undefined][] = [
  ["no grants", {}],
  ["no list of grants", undefined],
];

it.each(OPERATORS)("an operator with %s sees tenants, operators and the server", (_, grants) => {
  const operator = by({ tenant: "~operators", operator: true, grants });
  expect(titles(operator)).toEqual(["Tenants", "Operators", "Health"]);
  expect(NOUNS.filter((noun) => maySee(operator, noun))).toEqual([]);
  expect(hasWholeTenant(operator)).toBe(false);
  expect(shownTo(operator, { page: "home" })).toEqual({ page: "tenants" });
});

it("a key of a tenant sees no page of operators", () => {
  expect(titles(by({}))).toEqual([
    ...["Home", "Threads", "Inbox", "Files", "Store", "Sessions", "Snapshots"],
    ...["Access", "Audit", "Usage", "Retention", "Health", "Connect"],
  ]);
  expect(shownTo(by({}), { page: "home" })).toEqual({ page: "home" });
});

it("a token for one thread sees threads", () => {
  const grants: Grants = { threads: [{ id: "t", actions: ["read"] }] };
  const token = by({ credential: "tok_1", grants });
  expect(titles(token)).toEqual(["Home", "Threads", "Inbox", "Connect"]);
});

it("the page of one thing belongs to the section of its list", () => {
  expect(sectionOf({ page: "tenant", tenant: "acme" })).toBe("tenants");
  expect(sectionOf({ page: "snapshot", snapshotId: "s" })).toBe("snapshots");
  expect(sectionOf({ page: "operators" })).toBe("operators");
});
