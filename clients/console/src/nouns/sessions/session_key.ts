/** Keys of sessions as one text, in the form that grants have: `part/part`, with `%`, `/` and NUL of a part as `%25`, `%2F` and `%00`. */

import type { SessionAddress } from "threadkeep";

const ESCAPES = new Map([
  ["%", "%25"],
  ["/", "%2F"],
  ["\0", "%00"],
]);

export function keyText(key: readonly string[]): string {
  return key.map((part) => [...part].map((one) => ESCAPES.get(one) ?? one).join("")).join("/");
}

/** The parts of a text. What is no escape stays as it is. */
export function keyOfText(text: string): string[] {
  return text.split("/").map((part) =>
    part.replace(/%(25|2F|00)/gi, (_, code: string) => {
      return String.fromCharCode(Number.parseInt(code, 16));
    }),
  );
}

/** The session that a grant names by `kind:key`; undefined for any other text. */
export function sessionOfGrant(name: string): SessionAddress | undefined {
  const at = name.indexOf(":");
  if (at <= 0 || at === name.length - 1) return undefined;
  return { kind: name.slice(0, at), key: keyOfText(name.slice(at + 1)) };
}
