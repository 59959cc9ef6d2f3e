/** The route of the page: read, followed and changed. Everything stands behind `#`, so that no id reaches a log of a server. */

import { useSyncExternalStore } from "react";
import { addressOf, type Route, routeOf } from "./route.js";

let seen: { hash: string; route: Route } | undefined;

function current(): Route {
  const { hash } = window.location;
  if (seen?.hash !== hash) seen = { hash, route: routeOf(hash) };
  return seen.route;
}

function follow(changed: () => void): () => void {
  window.addEventListener("hashchange", changed);
  return () => window.removeEventListener("hashchange", changed);
}

export function useRoute(): Route {
  return useSyncExternalStore(follow, current);
}

export function navigate(route: Route): void {
  window.location.hash = addressOf(route);
}

/** Changes the address without a new entry in the history of the browser. */
export function replaceRoute(route: Route): void {
  replaceAddress(addressOf(route));
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

/** Takes the token out of `#/login?token=…`. It is erased from the address, and from the history, before any request. */
export function takeToken(): string | undefined {
  const found = /^#\/login\?token=([^&]+)/.exec(window.location.hash);
  if (window.location.hash.startsWith("#/login")) replaceAddress("#/");
  return found?.[1] === undefined ? undefined : decodeURIComponent(found[1]);
}

function replaceAddress(hash: string): void {
  const { pathname, search } = window.location;
  window.history.replaceState(null, "", `${pathname}${search}${hash}`);
}
