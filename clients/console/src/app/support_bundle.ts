/** The text that somebody copies for a bug report: versions, limits and counts. No contents, names, ids, addresses or credentials. */

import type { ServerInfo } from "threadkeep";
import type { Sample } from "./metrics_text.js";

/** Labels whose values are words of the program. */
const HTTP = ["operation", "method", "route", "status", "code"];
const QUEUES = ["queue", "size", "turn", "form", "reason", "task"];
const DATABASE = ["pool", "state", "class", "part", "version", "engine"];
const LABELS = new Set([...HTTP, ...QUEUES, ...DATABASE, "le", "quantile"]);
const OWN = /^threadkeep_[a-z_]+$/;
const WORD = /^[A-Za-z0-9_.+{}*/-]{1,100}$/;

export interface BundleParts {
  at: Date;
  info: ServerInfo;
  isReady: boolean;
  limits: Readonly<Record<string, number>>;
  samples: readonly Sample[];
}

export function bundleText({ at, info, isReady, limits, samples }: BundleParts): string {
  const { version, engine, keyless, startedAt, features } = info;
  const bundle = {
    made_at: at.toISOString(),
    server: { version, engine, keyless, started_at: startedAt?.toISOString(), is_ready: isReady },
    features: flagsOf(features ?? {}),
    limits,
    metrics: samples.flatMap(lineOf),
  };
  return `${JSON.stringify(bundle, null, 1)}\n`;
}

/** Only whether something is set up: names of models and issuers are the operator's. */
function flagsOf(features: Readonly<Record<string, unknown>>): Record<string, boolean> {
  return Object.fromEntries(Object.entries(features).map(([name, value]) => [name, isOn(value)]));
}

function isOn(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value);
}

/** Nothing of a sample that has another name or label than the server's own. */
function lineOf({ name, labels, value }: Sample): string[] {
  const isOwn = [...labels].every(([label, word]) => LABELS.has(label) && WORD.test(word));
  if (!OWN.test(name) || !isOwn) return [];
  const pairs = Array.from(labels, ([label, word]) => `${label}="${word}"`).join(",");
  return [pairs === "" ? `${name} ${value}` : `${name}{${pairs}} ${value}`];
}
