/** A token as a person describes it: what is sent for it, what is wrong with it, and what it may do in one sentence. */

import { type Grants, label, labelWithColons, type MintTokenOptions } from "threadkeep";
import type { Noun, Verb } from "../../api/capabilities.js";
import { decodeText } from "../../app/address_text.js";

export const NOUNS = ["threads", "namespaces", "sessions", "snapshots"] as const satisfies Noun[];
export const VERBS = ["read", "append", "write"] as const satisfies Verb[];
export const SELECTORS = ["id", "prefix", "owned"] as const;
export type Selector = (typeof SELECTORS)[number];

export interface GrantDraft {
  noun: Noun;
  /** Namespaces have prefixes only. */
  by: Selector;
  /** Labels of a namespace have slashes between them, and `%2F` for a slash. */
  name: string;
  verbs: readonly Verb[];
}

export interface TokenDraft {
  /** Empty: none. */
  subject: string;
  has: "subject" | "reading" | "grants";
  grants: readonly GrantDraft[];
  ttlSeconds: number;
}

export const LIFETIMES = [
  [300, "5 minutes"],
  [900, "15 minutes"],
  [3_600, "1 hour"],
  [28_800, "8 hours"],
  [86_400, "1 day"],
] as const;

export const NEW_GRANT: GrantDraft = { noun: "threads", by: "id", name: "", verbs: ["read"] };

/** Returns the options of `tokens.mint` for a draft. */
export function mintOptions({ subject, has, grants, ttlSeconds }: TokenDraft): MintTokenOptions {
  return {
    ...(subject === "" ? {} : { subject }),
    ...(has === "reading" ? { readOnly: true } : {}),
    ...(has === "grants" ? { grants: grantsOf(grants) } : {}),
    ttlSeconds,
  };
}

/** The body of the request. */
export function mintBody(draft: TokenDraft) {
  const { subject, readOnly: read_only, grants, ttlSeconds: ttl_seconds } = mintOptions(draft);
  return { subject, read_only, grants, ttl_seconds };
}

function grantsOf(drafts: readonly GrantDraft[]): Grants {
  const grants: Grants = {};
  for (const noun of NOUNS) {
    const own = drafts.filter((one) => one.noun === noun);
    if (own.length === 0) continue;
    if (noun === "namespaces") {
      grants.namespaces = own.map(({ name, verbs }) => ({
        prefix: labelsOf(name),
        actions: [...verbs],
      }));
    } else {
      grants[noun] = own.map(({ by, name, verbs }) => ({
        ...(by === "owned" ? { owned: true } : { [by]: name }),
        actions: [...verbs],
      }));
    }
  }
  return grants;
}

function labelsOf(name: string): string[] {
  return name
    .split("/")
    .filter((part) => part !== "")
    .map(decodeText);
}

/** Why the server would refuse it; undefined where nothing is known. */
export function problemOf({ subject, has, grants }: TokenDraft): string | undefined {
  if (has === "subject" && subject === "") return "Name a subject, or choose something else.";
  if (has !== "grants") return undefined;
  if (grants.length === 0) return "Add a grant.";
  for (const [at, grant] of grants.entries()) {
    const problem = problemOfGrant(grant, subject);
    if (problem !== undefined) return `Grant ${at + 1}: ${problem}`;
  }
  return undefined;
}

function problemOfGrant({ noun, by, name, verbs }: GrantDraft, subject: string) {
  if (verbs.length === 0) return "choose what it allows.";
  if (noun === "namespaces") return problemOfLabels(labelsOf(name), subject);
  if (by === "owned") return subject === "" ? "without a subject nobody owns things." : undefined;
  if (name === "") return "it has no name.";
  const isOpen = by === "prefix" && !/[:/]$/.test(name);
  return isOpen ? "a prefix ends in : or /, or it opens its neighbours." : undefined;
}

function problemOfLabels(labels: readonly string[], subject: string): string | undefined {
  if (labels.some((one) => one.includes("."))) return "labels have no dots.";
  if (subject === "") return undefined;
  const own = [label(subject), labelWithColons(subject)];
  return own.includes(labels[0] ?? "") ? undefined : `its namespaces begin with ${own[0]}.`;
}

/** Describes in one sentence what the token may do. */
export function sentenceOf(draft: TokenDraft): string {
  const { subject, has, grants, ttlSeconds } = draft;
  const time = LIFETIMES.find(([seconds]) => seconds === ttlSeconds)?.[1] ?? `${ttlSeconds} s`;
  const start = `For ${time}, it may`;
  if (has === "subject") {
    return `${start} read, add to, change and delete everything that ${subject} has: threads, sessions, snapshots and namespaces. It may do nothing else.`;
  }
  if (has === "reading") {
    const what =
      subject === ""
        ? "everything of the tenant, with its keys, usage and audit log"
        : `everything that ${subject} has: threads, sessions, snapshots and namespaces`;
    return `${start} read ${what}. It may change nothing.`;
  }
  const parts = grants.map((one) => `${verbText(one.verbs)} ${thingText(one, subject)}`);
  const speaks = subject === "" ? "" : ` It speaks for ${subject}.`;
  return `${start} ${parts.join("; ")}. It may do nothing else.${speaks}`;
}

/** `write` covers `append`, and never `read`. */
function verbText(verbs: readonly Verb[]): string {
  const change = verbs.includes("write")
    ? ["add to", "change", "delete"]
    : verbs.includes("append")
      ? ["add to"]
      : [];
  const all = verbs.includes("read") ? ["read", ...change] : change;
  const text = all.length < 2 ? all.join("") : `${all.slice(0, -1).join(", ")} and ${all.at(-1)}`;
  return verbs.includes("read") ? text : `${text}, but not read,`;
}

const ONE = { threads: "thread", sessions: "session", snapshots: "snapshot" } as const;

function thingText({ noun, by, name }: GrantDraft, subject: string): string {
  if (noun === "namespaces") {
    const labels = labelsOf(name);
    if (labels.length === 0) return "all namespaces";
    return `the namespace ${labels.join("/")} and all below it`;
  }
  if (by === "owned") return `the ${noun} that ${subject} made`;
  if (by === "id") return `the ${ONE[noun]} ${name}`;
  return `all ${noun} with names that begin with ${name}`;
}
