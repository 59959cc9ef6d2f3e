/** A value over the limit is refused by its channel, before anything is sent. */

import { expect, it } from "vitest";
import { TooLargeError } from "../src/errors.js";
import { jsonSerializer, writesOp } from "../src/langgraph/encode.js";

const LIMIT = 256 * 1024 * 1024;
const target = { threadId: "t", checkpointNs: "", checkpointId: "1" };

function write(bytes: number) {
  const writes: [string, unknown][] = [["messages", new Uint8Array(bytes)]];
  return writesOp(jsonSerializer, { target, writes, taskId: "task", taskPath: "", seq: 1 });
}

it("names the channel, its size and the limit", async () => {
  const refused = write(LIMIT + 1);
  await expect(refused).rejects.toThrow(TooLargeError);
  await expect(refused).rejects.toMatchObject({
    field: "messages",
    limit: LIMIT,
    message: expect.stringContaining('"messages" has 268435457 bytes'),
  });
  await write(LIMIT);
});
