/** The palette: what it offers for a text, and for a secret. */

import fc from "fast-check";
import { expect, it } from "vitest";
import type { Section } from "../src/api/grants.js";
import { type Around, entriesOf } from "../src/app/palette_entries.js";
import { addressOf, type Route } from "../src/app/route.js";

const UUID = "1ef4f797-8335-6428-8001-8a1503f9b875";
const THREAD: Route = { page: "thread", threadId: "t", tab: "timeline", ns: "tools:1" };

function around(changes: Partial<Around> = {}): Around {
  return {
    sections: [
      { title: "Home", to: { page: "home" } },
      { title: "Threads", to: { page: "threads" } },
      { title: "Usage", to: { page: "usage" } },
    ],
    actions: [{ label: "Rename", group: "Actions of the thread", run: () => {} }],
    route: { page: "home" },
    maySee: () => true,
    hasTenants: false,
    ...changes,
  };
}

/** Kinds and addresses of the entries. */
function offered(text: string, changes: Partial<Around> = {}) {
  return entriesOf(text, around(changes)).map((one) => [
    one.kind,
    "to" in one ? addressOf(one.to) : one.text,
  ]);
}

it("without a text there are all sections and the actions of the page", () => {
  expect(offered("")).toEqual([
    ["Section", "#/"],
    ["Section", "#/threads"],
    ["Section", "#/usage"],
    ["Actions of the thread", "Rename"],
  ]);
});

it("a part of a name finds sections and actions, before things with this id", () => {
  expect(offered("RE").slice(0, 2)).toEqual([
    ["Section", "#/threads"],
    ["Actions of the thread", "Rename"],
  ]);
  expect(offered("usage")[0]).toEqual(["Section", "#/usage"]);
});

it("an id leads to the things that may have it; a checkpoint to the open thread", () => {
  expect(offered(` ${UUID} `)).toEqual([
    ["Thread", `#/threads/${UUID}`],
    ["Snapshot", `#/snapshots/${UUID}`],
    ["Namespace", `#/store/${UUID}`],
  ]);
  expect(offered(UUID, { route: THREAD })[0]).toEqual([
    ...["Checkpoint of this thread", `#/threads/t/timeline?ns=tools%3A1&cp=${UUID}`],
  ]);
  expect(offered(UUID, { route: { ...THREAD, tab: "diff" } })[0]?.[1]).toContain("/t/state?");
  expect(offered("claude:a/b%2Fc")).toContainEqual(["Session", "#/sessions/claude/a/b%2Fc"]);
  expect(offered("ann/notes")).toContainEqual(["Namespace", "#/store/ann/notes"]);
});

it("a link to a place of the console leads there", () => {
  for (const link of ["#/threads/a%2Fb/state", "https://h.test/x/console/#/threads/a%2Fb/state"]) {
    expect(offered(link)).toEqual([["Address", "#/threads/a%2Fb/state"]]);
  }
  expect(offered("javascript:alert(1)#/usage").map(([kind]) => kind)).not.toContain("Address");
});

it("only kinds that the caller may see are offered", () => {
  const maySee = (section: Section) => section === "snapshots";
  expect(offered("claude:a", { maySee })).toEqual([["Snapshot", "#/snapshots/claude%3Aa"]]);
});

it("the name of a tenant leads there for operators, who are offered nothing that has contents", () => {
  const ofOperator = { maySee: () => false, hasTenants: true };
  expect(offered("acme", ofOperator)).toEqual([["Tenant", "#/tenants/acme"]]);
  expect(offered("no tenant", ofOperator)).toEqual([]);
  expect(offered("acme").map(([kind]) => kind)).not.toContain("Tenant");
});

it("a key or a token is never an id, nor a link that logs in an address", () => {
  for (const secret of ["tk_abc", "tkr_abc", "tko_abc", " tks_abc", "eyJhbGciOi.x.y"]) {
    expect(offered(secret, { route: THREAD, hasTenants: true }), secret).toEqual([]);
  }
  const link = "https://h.test/console/#/login?token=tks_stolen";
  for (const text of [link, "#/login?token=tks_stolen"]) {
    expect(
      offered(text)
        .map(([, address]) => address)
        .join(),
      text,
    ).not.toContain("stolen");
  }
});

it("each entry has an id of its own, and an address of the console", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const entries = entriesOf(text, around({ route: THREAD }));
      expect(new Set(entries.map(({ id }) => id)).size).toBe(entries.length);
      for (const one of entries) {
        if ("to" in one) expect(addressOf(one.to)).toMatch(/^#\//);
      }
    }),
  );
});
