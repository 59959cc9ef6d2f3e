/** The credentials of this tab. They are in its `sessionStorage` alone: a reload keeps them, and they end with the tab. */

import { useSyncExternalStore } from "react";
import { Listeners } from "./listeners.js";

const STORED_AS = "threadkeep.session";

export interface Credential {
  id: string;
  secret: string;
  /** The tenant and the name of the key, once the server has told them. */
  name: string;
}

export interface Session {
  credentials: readonly Credential[];
  /** Absent: requests carry no credential, as on a server of the own machine without keys. */
  chosen: string | undefined;
}

const EMPTY: Session = { credentials: [], chosen: undefined };
const listeners = new Listeners();
let session: Session | undefined;

export function readSession(): Session {
  session ??= stored();
  return session;
}

export function useSession(): Session {
  return useSyncExternalStore(listeners.subscribe, readSession);
}

export function chosenCredential({ credentials, chosen }: Session): Credential | undefined {
  return credentials.find(({ id }) => id === chosen);
}

/** Keeps a credential and works with it from now on. */
export function addCredential(secret: string, name = ""): void {
  const { credentials } = readSession();
  const known = credentials.find((one) => one.secret === secret);
  const id = known?.id ?? String(1 + Math.max(0, ...credentials.map((one) => Number(one.id))));
  const others = credentials.filter((one) => one.id !== id);
  write({
    credentials: [...others, { id, secret, name: name || (known?.name ?? "") }],
    chosen: id,
  });
}

export function chooseCredential(id: string): void {
  write({ ...readSession(), chosen: id });
}

/** A fresh secret in place of one that has expired: what is open stays open. */
export function replaceSecret(id: string, secret: string): void {
  change(id, (one) => ({ ...one, secret }));
}

export function nameCredential(id: string, name: string): void {
  const known = readSession().credentials.find((one) => one.id === id);
  if (known && known.name !== name) change(id, (one) => ({ ...one, name }));
}

/** Forgets a credential; another one of the tab is used then, if there is one. */
export function dropCredential(id: string): void {
  const credentials = readSession().credentials.filter((one) => one.id !== id);
  write({ credentials, chosen: credentials.at(-1)?.id });
}

function change(id: string, changed: (one: Credential) => Credential): void {
  const { credentials, chosen } = readSession();
  write({ credentials: credentials.map((one) => (one.id === id ? changed(one) : one)), chosen });
}

function write(next: Session): void {
  session = next;
  if (next.credentials.length === 0) sessionStorage.removeItem(STORED_AS);
  else sessionStorage.setItem(STORED_AS, JSON.stringify(next));
  listeners.notify();
}

function stored(): Session {
  try {
    const found = JSON.parse(sessionStorage.getItem(STORED_AS) ?? "null") as Session | null;
    return found && Array.isArray(found.credentials) ? found : EMPTY;
  } catch {
    return EMPTY;
  }
}
