/** Reads the names that a person types into the form of a snapshot. */

import type { SessionAddress } from "threadkeep";

/** One name on each line that has some. */
export function namesOf(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** Labels with slashes between them. */
export function namespacesOf(text: string): string[][] {
  return namesOf(text).map(partsOf);
}

/** The kind, then the parts of the key. A line without a key names none. */
export function sessionsOf(text: string): SessionAddress[] {
  return namesOf(text).flatMap((line) => {
    const [kind, ...key] = partsOf(line);
    return kind === undefined || key.length === 0 ? [] : [{ kind, key }];
  });
}

function partsOf(line: string): string[] {
  return line.split("/").filter((part) => part !== "");
}
