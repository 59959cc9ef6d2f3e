/** Tells objects of JSON from other values. */

export type Fields = Record<string, unknown>;

export function isFields(value: unknown): value is Fields {
  return (
    typeof value === "object" &&
    value !== null &&
    !Array.isArray(value) &&
    !ArrayBuffer.isView(value)
  );
}
