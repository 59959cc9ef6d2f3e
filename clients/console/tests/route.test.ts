/** Every place of the console has one address, whatever its ids hold. */

import fc from "fast-check";
import { expect, it } from "vitest";
import { decodeText, encodeText } from "../src/app/address_text.js";
import {
  ACCESS_VIEWS,
  addressOf,
  ORDERS,
  type Route,
  routeOf,
  SESSION_VIEWS,
  SORTS,
  STATUSES,
  STORE_MODES,
  THREAD_TABS,
} from "../src/app/route.js";
import { ACTS } from "../src/nouns/tenants/acts.js";

const HOSTILE = [
  ..."/|?|#|%|%2F|..|.|../..|//|&=|a b|+|%u0041|%ud800|\ud800|\udc00x|\u202e|\u0000|\ufeff|javascript:alert(1)".split(
    "|",
  ),
  "<img src=x onerror=alert(1)>",
  "threads/x/state?cp=1#y",
  "😀 ünïcödé",
  "",
];
const text = fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: "binary" }));
/** Also half of a surrogate pair. */
const anyText = fc.oneof(
  text,
  fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 })
    .map((codes) => String.fromCharCode(...codes)),
);
const id = anyText.filter((one) => one !== "");
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

const routes: fc.Arbitrary<Route> = fc.oneof(
  fc.constantFrom<Route>(
    { page: "home" },
    { page: "connect" },
    { page: "inbox" },
    { page: "usage" },
    { page: "health" },
    { page: "tenants" },
    { page: "operators" },
  ),
  fc.record({ page: fc.constant("tenant" as const), tenant: id }),
  fc.record({
    page: fc.constant("threads" as const),
    status: maybe(fc.constantFrom(...STATUSES)),
    q: maybe(anyText),
    owner: maybe(id),
    sort: maybe(fc.constantFrom(...SORTS)),
    order: maybe(fc.constantFrom(...ORDERS)),
  }),
  fc.record({
    page: fc.constant("thread" as const),
    threadId: id,
    tab: fc.constantFrom(...THREAD_TABS),
    ns: maybe(anyText),
    checkpoint: maybe(anyText),
    from: maybe(anyText),
    to: maybe(anyText),
    fromThread: maybe(id),
    fromNs: maybe(anyText),
  }),
  fc.record({
    page: fc.constant("store" as const),
    namespace: fc.array(anyText, { maxLength: 4 }),
    key: maybe(anyText),
    version: maybe(anyText),
    q: maybe(anyText),
    mode: maybe(fc.constantFrom(...STORE_MODES)),
    filter: maybe(anyText),
  }),
  fc.record({
    page: fc.constant("files" as const),
    place: fc.constant("namespace" as const),
    namespace: fc.array(anyText, { maxLength: 4 }),
    path: anyText,
    glob: maybe(anyText),
    grep: maybe(anyText),
    line: maybe(anyText),
  }),
  fc.record({
    page: fc.constant("files" as const),
    place: fc.constant("drive" as const),
    namespace: fc.constant<string[]>([]),
    path: anyText,
    subject: maybe(anyText),
    grep: maybe(anyText),
  }),
  fc.record({
    page: fc.constant("sessions" as const),
    kind: maybe(anyText),
    prefix: maybe(fc.array(anyText, { maxLength: 4 }).filter((one) => one.length > 0)),
    user: maybe(anyText),
  }),
  fc.record({
    page: fc.constant("session" as const),
    kind: id,
    key: fc.array(anyText, { minLength: 1, maxLength: 4 }),
    stream: maybe(anyText),
    document: maybe(anyText),
    view: maybe(fc.constantFrom(...SESSION_VIEWS)),
  }),
  fc.record({
    page: fc.constant("snapshots" as const),
    label: maybe(anyText),
    value: maybe(anyText),
  }),
  fc.record({ page: fc.constant("snapshot" as const), snapshotId: id }),
  fc.record({
    page: fc.constant("access" as const),
    show: maybe(fc.constantFrom(...ACCESS_VIEWS)),
  }),
  fc.record({ page: fc.constant("retention" as const), thread: maybe(id) }),
  fc.record({
    page: fc.constant("audit" as const),
    act: maybe(fc.constantFrom(...ACTS)),
    since: maybe(fc.constantFrom("2026-01-31T12:00:00Z", "2026-01-31T12:00:00.000001Z")),
    until: maybe(fc.constant("2026-02-28T23:59:59Z")),
  }),
);

it("an address leads to the route that it was made of", () => {
  fc.assert(
    fc.property(routes, (route) => {
      expect({ ...routeOf(addressOf(route)) }).toEqual(JSON.parse(JSON.stringify(route)));
    }),
  );
});

it("an address is one that a browser keeps as it is", () => {
  fc.assert(
    fc.property(routes, (route) => {
      const address = addressOf(route);
      expect(address).toMatch(/^#\/[\x21-\x7e]*$/);
      expect(new URL(address, "http://127.0.0.1/console/").hash).toBe(address);
    }),
  );
});

it("any text is a part of an address and comes back", () => {
  fc.assert(
    fc.property(anyText, (one) => {
      expect(decodeText(encodeText(one))).toBe(one);
    }),
  );
});

it("no address throws", () => {
  fc.assert(
    fc.property(text, (one) => {
      expect(routeOf(`#/${one}`).page).toBeTypeOf("string");
    }),
  );
  fc.assert(
    fc.property(text, (one) => {
      expect(routeOf(one).page).toBeTypeOf("string");
    }),
  );
});

it("a value that a parameter cannot have is left out", () => {
  expect(routeOf("#/threads?status=gone&sort=constructor&order=up&q=x")).toEqual({
    page: "threads",
    q: "x",
  });
  expect(routeOf("#/threads?owner=")).toEqual({ page: "threads" });
  expect(routeOf("#/access?show=keys")).toEqual({ page: "access" });
  expect(routeOf("#/threads/a/constructor")).toMatchObject({ page: "missing" });
  expect(routeOf("#/sessions/claude/a?view=all")).toEqual({
    page: "session",
    kind: "claude",
    key: ["a"],
  });
  expect(routeOf("#/sessions/claude")).toMatchObject({ page: "missing" });
  expect(routeOf("#/snapshots/a/b")).toMatchObject({ page: "missing" });
  expect(routeOf("#/audit?act=constructor&since=yesterday&until=2026-99-31T12:00:00Z")).toEqual({
    page: "audit",
  });
  expect(routeOf("#/retention?thread=")).toEqual({ page: "retention" });
  expect(routeOf("#/retention/x")).toMatchObject({ page: "missing" });
  expect(routeOf("#/health/x")).toMatchObject({ page: "missing" });
  expect(routeOf("#/audit/x")).toMatchObject({ page: "missing" });
  expect(routeOf("#/operators/x")).toMatchObject({ page: "missing" });
  expect(routeOf("#/tenants/acme/x")).toMatchObject({ page: "missing" });
  expect(routeOf("#/nowhere")).toMatchObject({ page: "missing" });
});
