/** Times as they travel. */

import { InvalidError } from "../errors.js";

/** A date as RFC 3339, and text as it is. Throws InvalidError naming `field` for a date that is none. */
export function timeText(time: Date | string | undefined, field: string): string | undefined {
  if (!(time instanceof Date)) return time;
  if (Number.isNaN(time.getTime())) throw new InvalidError(`${field} is no valid time`, { field });
  return time.toISOString();
}
