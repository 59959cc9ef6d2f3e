/** Compares large values beside the page, so that the page goes on. */

import { diffOf } from "../content/json_diff.js";

/** One comparison. */
export interface Compare {
  number: number;
  before: unknown;
  after: unknown;
}

self.addEventListener("message", ({ data }: MessageEvent<Compare>) => {
  self.postMessage({ number: data.number, patch: diffOf(data.before, data.after) });
});
