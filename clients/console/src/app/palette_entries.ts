/** Finds the entries of the palette for a text: sections, actions of the page, and things that may have the text as their id. */

import type { Section } from "../api/grants.js";
import { sessionOfGrant } from "../nouns/sessions/session_key.js";
import { isTenantName } from "../nouns/tenants/tenant_name.js";
import type { PageAction } from "./page_actions.js";
import { type Route, routeOf } from "./route.js";

export interface SectionEntry {
  title: string;
  to: Route;
}

export type Entry = {
  /** Unlike that of any other entry. */
  id: string;
  /** What it is: "Section", "Thread", the name of the page's actions. */
  kind: string;
  /** The name of the section or action, or the id. */
  text: string;
} & ({ to: Route } | { run: () => void });

export interface Around {
  sections: readonly SectionEntry[];
  actions: readonly PageAction[];
  /** The page that is open. */
  route: Route;
  maySee: (section: Section) => boolean;
  /** Whether tenants are offered: for the key of an operator. */
  hasTenants: boolean;
}

/** Keys, tokens and links that log in: nothing of them may reach an address or a request as an id. */
const SECRET = /^(tk[a-z]?_|eyJ)|#\/login/;

/** Returns the entries for a text, those that are known to be there first. */
export function entriesOf(typed: string, around: Around): Entry[] {
  const text = typed.trim();
  const wanted = text.toLowerCase();
  const isFound = (name: string) => name.toLowerCase().includes(wanted);
  const actions = around.actions
    .filter(({ label }) => isFound(label))
    .map(
      ({ label, group, run }, at): Entry => ({ id: `action ${at}`, kind: group, text: label, run }),
    );
  const sections = around.sections
    .filter(({ title }) => isFound(title))
    .map(({ title, to }): Entry => ({ id: `section ${title}`, kind: "Section", text: title, to }));
  return [...sections, ...actions, ...thingsOf(text, around)];
}

function thingsOf(text: string, { route, maySee, hasTenants }: Around): Entry[] {
  if (text === "" || SECRET.test(text)) return [];
  const linked = linkedRoute(text);
  if (linked) return [{ id: "address", kind: "Address", text, to: linked }];
  const found: Entry[] = [];
  if (route.page === "thread") {
    const { threadId, tab, ns } = route;
    const shown = tab === "diff" ? "state" : tab;
    const to: Route = { page: "thread", threadId, tab: shown, ns, checkpoint: text };
    found.push({ id: "checkpoint", kind: "Checkpoint of this thread", text, to });
  }
  if (hasTenants && isTenantName(text)) {
    found.push({ id: "tenant", kind: "Tenant", text, to: { page: "tenant", tenant: text } });
  }
  if (maySee("threads")) {
    const to: Route = { page: "thread", threadId: text, tab: "conversation" };
    found.push({ id: "thread", kind: "Thread", text, to });
  }
  if (maySee("snapshots")) {
    found.push({
      id: "snapshot",
      kind: "Snapshot",
      text,
      to: { page: "snapshot", snapshotId: text },
    });
  }
  const session = sessionOfGrant(text);
  if (maySee("sessions") && session) {
    const to: Route = { page: "session", kind: session.kind, key: [...session.key] };
    found.push({ id: "session", kind: "Session", text, to });
  }
  if (maySee("namespaces")) {
    const namespace = text.split("/").filter((label) => label !== "");
    const to: Route = { page: "store", namespace };
    if (namespace.length > 0) found.push({ id: "namespace", kind: "Namespace", text, to });
  }
  return found;
}

/** The place of a link to this console, given with or without the server before it. */
function linkedRoute(text: string): Route | undefined {
  const at = text.indexOf("#/");
  const isLink = at === 0 || (at > 0 && /^https?:\/\//.test(text));
  if (!isLink || text.startsWith("#/login", at)) return undefined;
  const route = routeOf(text.slice(at));
  return route.page === "missing" ? undefined : route;
}
