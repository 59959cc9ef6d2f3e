/** The server that the page came from, and clients for it. */

import { Client } from "threadkeep";

/** The address of the API: that of the page without `/console/`, so that a prefix of a proxy stays. */
export const SERVER_URL = serverUrl(window.location);

export function serverUrl({ origin, pathname }: { origin: string; pathname: string }): string {
  return `${origin}${pathname.replace(/\/console\/(index\.html)?$/, "").replace(/\/+$/, "")}`;
}

export function makeClient(secret: string | undefined): Client {
  return new Client(
    secret === undefined ? { url: SERVER_URL } : { url: SERVER_URL, apiKey: secret },
  );
}
