/** The bench of large states runs at a small size, compares what it reads with what it put, and reports every figure. */

import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { ROOT } from "../support/settings.js";

it("measures time and memory of both sides", async () => {
  const options = ["--import", "tsx", `${ROOT}clients/js/bench/large_states.ts`];
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...options, "--state-bytes", "2000000"],
    { cwd: ROOT },
  );
  const rows = stdout.trim().split("\n").slice(2);
  expect(rows.map((row) => row.split(" | ")[0]?.slice(2))).toEqual(
    ["put", "get"].flatMap((call) =>
      ["time", "memory of the client", "memory of the server"].map(
        (figure) => `${call} of 2 MB, ${figure}`,
      ),
    ),
  );
  expect(stdout).not.toContain("failed");
});
