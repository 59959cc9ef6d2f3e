/** The console offers what the server allows: over all operations of the API document and a dozen kinds of credentials. */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Grants, Identity } from "threadkeep";
import { describe, expect, it } from "vitest";
import { declaredPermissions, permissionsSource } from "../scripts/permissions.mjs";
import {
  can,
  mayList,
  missingOf,
  nameStart,
  type Operation,
  type Thing,
} from "../src/api/capabilities.js";

const TABLE = fileURLToPath(new URL("../src/api/permissions.ts", import.meta.url));
const ALL = ["read", "append", "write"] as const;

function caller(grants?: Grants, subject?: string): Identity {
  return { tenant: "acme", credential: "key_1", grants, subject } as Identity;
}

const OWNED = { owned: true, actions: [...ALL] };
const OF_ANN: Grants = {
  threads: [OWNED],
  sessions: [OWNED],
  snapshots: [OWNED],
  namespaces: [{ prefix: ["ann"], actions: [...ALL] }],
};
const EVERYTHING = ["threads", "sessions", "snapshots", "namespaces"].flatMap((noun) =>
  ALL.map((verb) => `${noun}:${verb}`),
);

/** Each with the permissions that it has for some thing. */
const CREDENTIALS: [name: string, identity: Identity, has: string[]][] = [
  ["a key of the tenant", caller(), [...EVERYTHING, "tenant", "tenant:read"]],
  [
    "read-only of the tenant",
    caller({ tenant: ["read"] }),
    ["threads:read", "sessions:read", "snapshots:read", "namespaces:read", "tenant:read"],
  ],
  ["a key of a subject", caller(OF_ANN, "ann"), EVERYTHING],
  ["read-only by id", caller({ threads: [{ id: "t", actions: ["read"] }] }), ["threads:read"]],
  [
    "read-only by prefix",
    caller({ threads: [{ prefix: "ann:", actions: ["read"] }] }),
    ["threads:read"],
  ],
  [
    "read-only by ownership",
    caller({ threads: [{ owned: true, actions: ["read"] }] }, "ann"),
    ["threads:read"],
  ],
  ["append only", caller({ threads: [{ id: "t", actions: ["append"] }] }), ["threads:append"]],
  [
    "write without read",
    caller({ threads: [{ id: "t", actions: ["write"] }] }),
    ["threads:append", "threads:write"],
  ],
  [
    "namespaces only",
    caller({ namespaces: [{ prefix: ["ann"], actions: ["read", "write"] }] }),
    ["namespaces:read", "namespaces:append", "namespaces:write"],
  ],
  [
    "namespaces, append only",
    caller({ namespaces: [{ prefix: [], actions: ["append"] }] }),
    ["namespaces:append"],
  ],
  [
    "sessions only",
    caller({ sessions: [{ prefix: "claude:", actions: ["read", "append"] }] }),
    ["sessions:read", "sessions:append"],
  ],
  [
    "snapshots only",
    caller({ snapshots: [{ id: "s", actions: [...ALL] }] }),
    ["snapshots:read", "snapshots:append", "snapshots:write"],
  ],
  ["no grant at all", caller({}), []],
  ["an operator", { ...caller({}), operator: true }, ["operator"]],
];
/** Operations whose handlers ask for more than their route. */
const ALSO = new Map([
  ["create_thread", "threads:read"],
  ["update_thread", "threads:read"],
  ["edit_file", "namespaces:read"],
  ["move_files", "namespaces:read"],
  ["copy_files", "namespaces:read"],
  ["restore_item_version", "namespaces:read"],
]);

/** For any credential of a tenant, so the route asks for nothing more. The server refuses them to operators. */
const NOT_FOR_OPERATORS = ["mint_token", "narrow_token", "revoke_token", "run_store_batch"];

it("the table is what the document declares", () => {
  expect(
    readFileSync(TABLE, "utf8"),
    "write it again: node clients/console/scripts/permissions.mjs",
  ).toBe(permissionsSource());
  expect(declaredPermissions().length).toBeGreaterThan(100);
});

describe.each(CREDENTIALS)("%s", (_, identity, has) => {
  it("may call the operations that its grants cover, and no other", () => {
    for (const [operation, needs] of declaredPermissions()) {
      const wanted = [needs ?? "any", ALSO.get(operation) ?? "any"];
      const isOpen = identity.operator !== true || !NOT_FOR_OPERATORS.includes(operation);
      const expected = isOpen && wanted.every((one) => one === "any" || has.includes(one));
      expect(can(identity, operation as Operation), operation).toBe(expected);
    }
  });
});

describe("one thing", () => {
  const mine: Thing = { thread: "t", owner: "ann" };
  const cases: [string, Identity, Operation, Thing, boolean][] = [
    [
      "its id is granted",
      caller({ threads: [{ id: "t", actions: ["write"] }] }),
      "delete_thread",
      mine,
      true,
    ],
    [
      "another id is granted",
      caller({ threads: [{ id: "T", actions: ["write"] }] }),
      "delete_thread",
      mine,
      false,
    ],
    [
      "a prefix is granted",
      caller({ threads: [{ prefix: "a:", actions: ["write"] }] }),
      "delete_thread",
      { thread: "a:1" },
      true,
    ],
    [
      "a neighbour of the prefix",
      caller({ threads: [{ prefix: "a:", actions: ["write"] }] }),
      "delete_thread",
      { thread: "a" },
      false,
    ],
    ["it is the subject's", caller(OF_ANN, "ann"), "delete_thread", mine, true],
    ["it is nobody's", caller(OF_ANN, "ann"), "delete_thread", { thread: "t" }, false],
    ["it is another's", caller(OF_ANN, "bob"), "delete_thread", mine, false],
    [
      "it will be the subject's",
      caller(OF_ANN, "ann"),
      "copy_thread",
      { thread: "t", isNew: true },
      true,
    ],
    [
      "ownership without a subject",
      caller(OF_ANN),
      "copy_thread",
      { thread: "t", isNew: true },
      false,
    ],
    [
      "write covers append",
      caller({ threads: [{ id: "t", actions: ["write"] }] }),
      "copy_thread",
      mine,
      true,
    ],
    [
      "an update is a read, too",
      caller({ threads: [{ id: "t", actions: ["write"] }] }),
      "update_thread",
      mine,
      false,
    ],
    [
      "read in one grant, append in another",
      caller({
        threads: [
          { id: "t", actions: ["read"] },
          { id: "t", actions: ["append"] },
        ],
      }),
      "update_thread",
      mine,
      true,
    ],
    ["a namespace below", caller(OF_ANN, "ann"), "put_item", { namespace: ["ann", "x"] }, true],
    [
      "the namespace above",
      caller({ namespaces: [{ prefix: ["ann", "x"], actions: [...ALL] }] }),
      "put_item",
      { namespace: ["ann"] },
      false,
    ],
    [
      "a label that begins alike",
      caller(OF_ANN, "ann"),
      "put_item",
      { namespace: ["anna"] },
      false,
    ],
    [
      "append creates",
      caller({ namespaces: [{ prefix: [], actions: ["append"] }] }),
      "put_item",
      { namespace: ["a"], isNew: true },
      true,
    ],
    [
      "append replaces nothing",
      caller({ namespaces: [{ prefix: [], actions: ["append"] }] }),
      "put_item",
      { namespace: ["a"] },
      false,
    ],
    [
      "a session by its name",
      caller({ sessions: [{ prefix: "claude:", actions: [...ALL] }] }),
      "delete_session",
      { session: "claude:a/b" },
      true,
    ],
    [
      "a snapshot by its id",
      caller({ snapshots: [{ id: "s", actions: [...ALL] }] }),
      "delete_snapshot",
      { snapshot: "s" },
      true,
    ],
    [
      "another snapshot",
      caller({ snapshots: [{ id: "s", actions: [...ALL] }] }),
      "delete_snapshot",
      { snapshot: "r" },
      false,
    ],
    ["the whole tenant", caller(), "delete_snapshot", { snapshot: "r" }, true],
  ];

  it.each(cases)("%s", (_, identity, operation, thing, expected) => {
    expect(can(identity, operation, thing)).toBe(expected);
  });

  it("the reason names the permission and the thing", () => {
    const reader = caller({ threads: [{ id: "t", actions: ["read"] }] });
    const missing = (operation: Operation, thing?: Thing) =>
      missingOf(reader, { operation, thing });
    expect(missing("delete_thread", mine)).toBe("threads:write for t");
    expect(missing("update_thread", mine)).toBe("threads:append for t");
    expect(missing("put_item", { namespace: ["ann", "x"], isNew: true })).toBe(
      "namespaces:append for ann/x",
    );
    expect(missing("put_item", { namespace: [] })).toBe("namespaces:write for all namespaces");
    expect(missing("break_lease", mine)).toBe("tenant for t");
    expect(missing("take_snapshot")).toBe("snapshots:append");
    expect(missing("get_thread", mine)).toBeUndefined();
  });
});

describe("what grants do not name", () => {
  const by = (credential: string, grants?: Grants) => ({ ...caller(grants), credential });
  const writing: Grants = { tenant: ["read", "write"] };
  const tenant: Thing = { tenant: true };

  it("keys are made and revoked by keys only", () => {
    for (const operation of ["create_key", "revoke_key"] as const) {
      expect(missingOf(by("key_1"), { operation })).toBeUndefined();
      expect(missingOf(by("key_1", { tenant: ["read"] }), { operation })).toBe("tenant");
      expect(missingOf(by("tok_1", writing), { operation })).toBe("a key");
      expect(missingOf(by("issuer:login:ann", OF_ANN), { operation })).toBe("tenant");
      expect(missingOf(by("local"), { operation })).toBe("a key from the command line");
    }
  });

  it("tokens are made by keys, of a subject too, and on a server without keys", () => {
    const operation = "mint_token";
    expect(missingOf(by("key_1", OF_ANN), { operation })).toBeUndefined();
    expect(missingOf(by("local"), { operation })).toBeUndefined();
    expect(missingOf(by("tok_1", writing), { operation })).toBe("a key");
    expect(missingOf(by("issuer:login:ann", OF_ANN), { operation })).toBe("a key");
  });

  it("an operator makes no tokens, and says whose key does", () => {
    const operator = { ...by("key_1", {}), operator: true };
    expect(missingOf(operator, { operation: "mint_token" })).toBe("a key of a tenant");
    expect(missingOf(operator, { operation: "create_tenant_key" })).toBeUndefined();
    expect(missingOf(by("key_1"), { operation: "create_tenant_key" })).toBe("operator");
    expect(missingOf(by("local"), { operation: "list_tenants" })).toBe("operator");
  });

  it("a token is revoked by its id, and the policy of the tenant set, by who writes the tenant", () => {
    for (const operation of ["revoke_token", "put_retention_policy", "run_retention"] as const) {
      const need = { operation, thing: tenant };
      expect(missingOf(by("tok_1", writing), need)).toBeUndefined();
      expect(missingOf(by("key_1", { tenant: ["read"] }), need)).toBe("tenant");
      expect(missingOf(by("key_1", OF_ANN), need)).toBe("tenant");
    }
    const read = { operation: "list_retention_reports", thing: tenant } as const;
    expect(missingOf(by("key_1", { tenant: ["read"] }), read)).toBeUndefined();
    expect(missingOf(by("key_1", OF_ANN), read)).toBe("tenant:read");
  });
});

it("a list needs more than single things", () => {
  expect(mayList(caller({ tenant: ["read"] }), "threads")).toBe(true);
  const of = (threads: NonNullable<Grants["threads"]>, subject?: string) =>
    caller({ threads }, subject);
  expect(mayList(caller(), "threads")).toBe(true);
  expect(mayList(of([{ id: "t", actions: ["read"] }]), "threads")).toBe(false);
  expect(mayList(of([{ prefix: "a:", actions: ["write"] }]), "threads")).toBe(false);
  expect(mayList(of([{ prefix: "a:", actions: ["read"] }]), "threads")).toBe(true);
  expect(mayList(of([{ owned: true, actions: ["read"] }], "ann"), "threads")).toBe(true);
  expect(mayList(of([{ owned: true, actions: ["read"] }]), "threads")).toBe(false);
});

it("a name that is made up begins as a grant wants it", () => {
  const of = (snapshots: NonNullable<Grants["snapshots"]>, subject?: string) =>
    nameStart(caller({ snapshots }, subject), "snapshots", "append");
  expect(nameStart(caller(), "snapshots", "append")).toBe("");
  expect(of([{ owned: true, actions: ["append"] }], "ann")).toBe("");
  expect(of([{ prefix: "ci/", actions: ["write"] }])).toBe("ci/");
  expect(of([{ prefix: "ci/", actions: ["read"] }])).toBeUndefined();
  expect(of([{ id: "s", actions: ["write"] }])).toBeUndefined();
});
