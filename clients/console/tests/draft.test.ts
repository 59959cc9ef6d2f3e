/** A token that a person describes: its request, its problems, and its sentence. */

import { expect, it, vi } from "vitest";
import {
  type GrantDraft,
  mintBody,
  mintOptions,
  problemOf,
  sentenceOf,
  type TokenDraft,
} from "../src/nouns/tokens/draft.js";

const grant = (changes: Partial<GrantDraft> = {}): GrantDraft => ({
  ...{ noun: "threads", by: "id", name: "ann-1", verbs: ["read", "append"] },
  ...changes,
});
const draft = (changes: Partial<TokenDraft> = {}): TokenDraft => ({
  ...{ subject: "", has: "grants", grants: [grant()], ttlSeconds: 900 },
  ...changes,
});
const OTHERS = [
  grant({ noun: "threads", by: "prefix", name: "ann:", verbs: ["read", "append", "write"] }),
  grant({ noun: "namespaces", name: "ann/a%2Fb/", verbs: ["write"] }),
  grant({ noun: "sessions", by: "owned", verbs: ["append"] }),
  grant({ noun: "snapshots", name: "s", verbs: ["read"] }),
];

it("grants of a kind stand together, each with its selector", () => {
  expect(mintBody(draft({ subject: "ann", grants: [grant(), ...OTHERS] }))).toEqual({
    subject: "ann",
    ttl_seconds: 900,
    grants: {
      threads: [
        { id: "ann-1", actions: ["read", "append"] },
        { prefix: "ann:", actions: ["read", "append", "write"] },
      ],
      namespaces: [{ prefix: ["ann", "a/b"], actions: ["write"] }],
      sessions: [{ owned: true, actions: ["append"] }],
      snapshots: [{ id: "s", actions: ["read"] }],
    },
  });
});

it("without grants it has what the subject has, or only reads", () => {
  expect(mintOptions(draft({ subject: "ann", has: "subject" }))).toEqual({
    subject: "ann",
    ttlSeconds: 900,
  });
  expect(mintOptions(draft({ has: "reading" }))).toEqual({ readOnly: true, ttlSeconds: 900 });
});

it("the sentence says all of it", () => {
  expect(sentenceOf(draft())).toBe(
    "For 15 minutes, it may read and add to the thread ann-1. It may do nothing else.",
  );
  expect(sentenceOf(draft({ subject: "ann", grants: OTHERS, ttlSeconds: 3_600 }))).toBe(
    [
      "For 1 hour, it may read, add to, change and delete all threads with names that begin with ann:;",
      "add to, change and delete, but not read, the namespace ann/a/b and all below it;",
      "add to, but not read, the sessions that ann made; read the snapshot s.",
      "It may do nothing else. It speaks for ann.",
    ].join(" "),
  );
  expect(sentenceOf(draft({ grants: [grant({ noun: "namespaces", name: "" })] }))).toContain(
    "read and add to all namespaces.",
  );
  expect(sentenceOf(draft({ has: "reading" }))).toContain(
    "everything of the tenant, with its keys, usage and audit log. It may change nothing.",
  );
  expect(sentenceOf(draft({ has: "subject", subject: "ann", ttlSeconds: 86_400 }))).toMatch(
    /^For 1 day, it may read, add to, change and delete everything that ann has/,
  );
});

it("what the server would refuse is said before", () => {
  const of = (changes: Partial<GrantDraft>, subject = "") =>
    problemOf(draft({ subject, grants: [grant(changes)] }));
  expect(problemOf(draft())).toBeUndefined();
  expect(problemOf(draft({ subject: "ann", grants: OTHERS }))).toBeUndefined();
  expect(problemOf(draft({ has: "subject" }))).toContain("Name a subject");
  expect(problemOf(draft({ has: "reading" }))).toBeUndefined();
  expect(problemOf(draft({ grants: [] }))).toBe("Add a grant.");
  expect(of({ name: "" })).toBe("Grant 1: it has no name.");
  expect(of({ verbs: [] })).toContain("choose what it allows");
  expect(of({ by: "prefix", name: "ann" })).toContain("ends in : or /");
  expect(of({ by: "owned" })).toContain("without a subject");
  expect(of({ by: "owned" }, "ann")).toBeUndefined();
  expect(of({ noun: "namespaces", name: "a.b" })).toContain("no dots");
  expect(of({ noun: "namespaces", name: "bob" }, "ann@x.y")).toContain("begin with ann@x~2ey");
  expect(of({ noun: "namespaces", name: "" }, "ann")).toContain("begin with ann");
  expect(of({ noun: "namespaces", name: "ann@x~2ey/notes" }, "ann@x.y")).toBeUndefined();
});

it("the code prints the token, and has no credential", async () => {
  vi.stubGlobal("window", { location: new URL("http://127.0.0.1:7070/console/") });
  const { mintSamples } = await import("../src/nouns/tokens/samples.js");
  const { Python = "", TypeScript = "", curl = "" } = mintSamples(draft());
  expect(TypeScript).toContain("(await client.tokens.mint({ grants: { threads:");
  expect(TypeScript).toContain(".token");
  expect(Python).toContain('client.tokens.mint(grants={"threads": [{"id": "ann-1"');
  expect(Python).toContain(".token");
  expect(curl).toContain('"ttl_seconds":900');
  expect(curl).toContain("$THREADKEEP_API_KEY");
});
