/** Files of audit events are exact, and their objects lead to pages. */

import type { AuditEventText } from "threadkeep";
import { expect, it } from "vitest";
import { ACTS, routeOfObject, titleOfAct } from "../src/nouns/tenants/acts.js";
import { csvText, jsonLines } from "../src/nouns/tenants/audit_file.js";

const EVENTS: AuditEventText[] = [
  {
    ...{ eventId: "e1", at: "2026-01-31T12:00:07.120001Z", act: "policy_put", count: 1 },
    ...{ actor: "key_1", object: 'a,"b"\r\nc', details: '{"keep_last":1.0}', text: '{"e":1.0}' },
  },
  {
    ...{ eventId: "e2", at: "2026-01-31T12:00:00.000000Z", act: "refused", count: 12 },
    ...{ details: "{}", text: '{"e":2}' },
  },
];

it("a line of JSON is the text of the server", () => {
  expect(jsonLines(EVENTS)).toBe('{"e":1.0}\n{"e":2}\n');
  expect(jsonLines([])).toBe("");
});

it("fields of CSV are quoted where they need it, and else as they are", () => {
  expect(csvText(EVENTS)).toBe(
    [
      "event_id,at,act,actor,object,count,details\r\n",
      'e1,2026-01-31T12:00:07.120001Z,policy_put,key_1,"a,""b""\r\nc",1,"{""keep_last"":1.0}"\r\n',
      "e2,2026-01-31T12:00:00.000000Z,refused,,,12,{}\r\n",
    ].join(""),
  );
});

it("objects lead to the pages of things that are there", () => {
  expect(routeOfObject("lease_broken", "t")).toEqual({
    page: "thread",
    threadId: "t",
    tab: "conversation",
  });
  expect(routeOfObject("namespace_setting_put", '["ann","notes"]')).toEqual({
    page: "store",
    namespace: ["ann", "notes"],
  });
  for (const object of ["[1]", '"ann"', "[", "{}"]) {
    expect(routeOfObject("namespace_setting_put", object)).toBeUndefined();
  }
  expect(routeOfObject("snapshot_deleted", "s")).toBeUndefined();
  expect(routeOfObject("constructor", "s")).toBeUndefined();
});

it("each act has a title, and an unknown one its name", () => {
  expect(ACTS.map(titleOfAct).filter((title) => /_/.test(title))).toEqual([]);
  expect(titleOfAct("constructor")).toBe("constructor");
});
