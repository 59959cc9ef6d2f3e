/** Numbers of callers, checked before they travel. */

import { InvalidError } from "../errors.js";

/** For limits, offsets and versions. Throws InvalidError naming `field`. */
export function wholeNumber(value: unknown, field: string): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) {
    throw new InvalidError(`${field} must be a whole number, 0 or more`, { field });
  }
  return value as number;
}

/** The same, where it may be left out. */
export function optionalWholeNumber(value: unknown, field: string): number | undefined {
  return value === undefined ? undefined : wholeNumber(value, field);
}

/** For places that count from the end below zero. Throws InvalidError naming `field`. */
export function optionalSignedNumber(value: unknown, field: string): number | undefined {
  if (value === undefined) return undefined;
  if (!Number.isSafeInteger(value)) {
    throw new InvalidError(`${field} must be a whole number`, { field });
  }
  return value as number;
}

/** For sizes of pages and parts: 1 or more. Throws InvalidError naming `field`. */
export function positiveNumber(value: unknown, field: string): number {
  if (wholeNumber(value, field) === 0)
    throw new InvalidError(`${field} must be at least 1`, { field });
  return value as number;
}

/** The same, where it may be left out. */
export function optionalPositiveNumber(value: unknown, field: string): number | undefined {
  return value === undefined ? undefined : positiveNumber(value, field);
}

/** For times to live. Throws InvalidError naming `field`. */
export function minutesOf(value: unknown, field: string): number {
  if (typeof value !== "number" || !(value >= 0)) {
    throw new InvalidError(`${field} must be minutes, 0 or more`, { field });
  }
  return value;
}
