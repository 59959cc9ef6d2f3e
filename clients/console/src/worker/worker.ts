/** Asks the worker of the page. */

import type { Patch } from "../content/json_diff.js";
import type { Compare } from "./diff_worker.js";
import address from "./diff_worker.ts?worker&url";

/** The only policy that the page may make: it gives the address of our worker, whatever it is asked for. */
interface Policies {
  createPolicy(
    name: string,
    rules: { createScriptURL: () => string },
  ): { createScriptURL(text: string): string };
}

let worker: Worker | undefined;
let asked = 0;

function openWorker(): Worker {
  const { trustedTypes } = globalThis as { trustedTypes?: Policies };
  const url = new URL(address, import.meta.url).href;
  const policy = trustedTypes?.createPolicy("threadkeep-worker", { createScriptURL: () => url });
  return new Worker(policy?.createScriptURL(url) ?? url, { type: "module" });
}

/** The difference of two values, made by the worker. */
export function compareInWorker(before: unknown, after: unknown): Promise<Patch> {
  worker ??= openWorker();
  const used = worker;
  asked += 1;
  const number = asked;
  return new Promise((resolve, reject) => {
    const done = () => {
      used.removeEventListener("message", onMessage);
      used.removeEventListener("error", onError);
    };
    const onMessage = ({ data }: MessageEvent<{ number: number; patch: Patch }>) => {
      if (data.number !== number) return;
      done();
      resolve(data.patch);
    };
    const onError = (event: ErrorEvent) => {
      done();
      reject(new Error(`the comparison failed: ${event.message}`));
    };
    used.addEventListener("message", onMessage);
    used.addEventListener("error", onError);
    const compare: Compare = { number, before, after };
    used.postMessage(compare);
  });
}
