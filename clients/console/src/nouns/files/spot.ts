/** Finds the namespace and the path in it that an address of Files names. The drive of a subject is one tree over several namespaces. */

import { type Identity, label } from "threadkeep";
import type { FilesRoute } from "../../app/route.js";

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
