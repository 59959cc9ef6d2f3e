/** Events of the audit log are texts as the server answers them. */

import { expect, it } from "vitest";
import { Client, ProtocolError } from "../src/index.js";

const EVENT =
  '{"event_id":"e1","at":"2026-01-31T12:00:07.120001Z","act":"policy_put","actor":"key_1","object":"a\\"]b","details":{"n":1.0,"big":9007199254740993},"count":1}';
const REFUSED =
  '{"event_id":"e2","at":"2026-01-31T12:00:00.000000Z","act":"refused","details":{},"count":9}';

function serverOf(answer: string) {
  const seen: string[] = [];
  const fetch: typeof globalThis.fetch = async (input, init) => {
    seen.push(`${input} ${new Headers(init?.headers).get("accept")}`);
    return new Response(answer, { headers: { "content-type": "application/json" } });
  };
  return { client: new Client({ url: "http://server", apiKey: "tk_secret", fetch }), seen };
}

it("times keep their microseconds and numbers their digits", async () => {
  const { client, seen } = serverOf(`{"events":[${EVENT}, ${REFUSED}],"next_cursor":"c"}`);
  const since = new Date("2026-01-31T00:00:00Z");
  const page = await client.auditText({ act: "policy_put", since, limit: 2 });
  expect(page).toEqual({
    events: [
      {
        ...{ eventId: "e1", at: "2026-01-31T12:00:07.120001Z", act: "policy_put", count: 1 },
        ...{ actor: "key_1", object: 'a"]b', text: EVENT },
        details: '{"n":1.0,"big":9007199254740993}',
      },
      {
        ...{ eventId: "e2", at: "2026-01-31T12:00:00.000000Z", act: "refused", count: 9 },
        ...{ details: "{}", text: REFUSED },
      },
    ],
    nextCursor: "c",
  });
  expect(seen).toEqual([
    "http://server/v1/audit?act=policy_put&limit=2&since=2026-01-31T00%3A00%3A00.000Z application/json",
  ]);
});

it("a last page has no cursor, and an answer of another form is refused", async () => {
  expect(await serverOf('{"events":[]}').client.auditText()).toEqual({ events: [] });
  await expect(serverOf('{"events":[{}]}').client.auditText()).rejects.toThrow(ProtocolError);
  await expect(serverOf("{}").client.auditText()).rejects.toThrow(ProtocolError);
});
