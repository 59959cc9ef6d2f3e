/** Finds the namespace and the path in it that an address of Files names. The drive of a subject is one tree over several namespaces. */

import { type Identity, label } from "threadkeep";
import type { FilesRoute } from "../../app/route.js";
import { type ChangedItem, isSame } from "../../app/store_refresh.js";

export interface Spot {
  namespace: string[];
  /** Begins with `/`. That of a folder ends with one. */
  path: string;
}

/** Undefined where no file can be: the list of namespaces, and the folder of all threads of a drive. */
export function spotOf(
  { place, namespace, path, subject }: FilesRoute,
  identity: Identity,
): Spot | undefined {
  if (place === "namespaces") return undefined;
  if (place === "namespace") return { namespace, path };
  const root = subject === undefined ? identity.label : label(subject);
  if (root === undefined) return undefined;
  const [, first = "", second = "", ...rest] = path.split("/");
  const below = (names: readonly string[]) => `/${names.join("/")}`;
  switch (first) {
    case "memories":
    case "memory":
      return { namespace: [root, "filesystem"], path: below([second, ...rest]) };
    case "workspace":
      return { namespace: [root, "workspace"], path: below([second, ...rest]) };
    case "threads":
      if (second === "") return undefined;
      return { namespace: [root, "threads", second, "artifacts"], path: below(rest) };
    default:
      return { namespace: [root, "workspace"], path };
  }
}

/** Whether a change of an item can change what an address of Files shows. */
export function isTouchedBy(route: FilesRoute, identity: Identity, change: ChangedItem): boolean {
  const spot = spotOf(route, identity);
  const isWholeDrive = route.place === "drive" && bare(route.path) === "/";
  if (spot === undefined || isWholeDrive) {
    // Its folders are of several namespaces, below one label.
    const root = route.subject === undefined ? identity.label : label(route.subject);
    return root === undefined || change.namespace[0] === root;
  }
  if (!isSame(change.namespace, spot.namespace)) return false;
  // Other paths lead to files, too, but not letter by letter.
  if (!isCanonical(spot.path)) return true;
  return spot.path.endsWith("/") ? change.key.startsWith(spot.path) : change.key === spot.path;
}

/** Whether a path begins with a slash and has no part that is empty or made of dots. */
function isCanonical(path: string): boolean {
  const [first, ...names] = bare(path).split("/");
  return first === "" && names.every((name) => !["", ".", ".."].includes(name));
}

/** The folder that a path is in; that of the root is the root. */
export function folderOf(path: string): string {
  const names = path.replace(/\/$/, "").split("/");
  return `${names.slice(0, -1).join("/")}/`;
}

/** A path without the slash that marks a folder. */
export function bare(path: string): string {
  return path === "/" ? path : path.replace(/\/$/, "");
}

/** Returns the path in the tree that the page shows, for a path of the namespace that its folder is in. */
export function shownPath(route: FilesRoute, spot: Spot, path: string): string {
  return `${route.path.slice(0, route.path.length - spot.path.length)}${path}`;
}
