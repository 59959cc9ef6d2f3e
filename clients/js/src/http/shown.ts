/** Shows the objects of this package in logs: class and address, never the key. */

const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/** Gives an object one text for people, for inspectors and for JSON. */
export function showAs(object: object, url: string): void {
  const text = () => `[${object.constructor.name} ${url}]`;
  // Not enumerable: copies and comparisons do not see it.
  for (const name of ["toString", "toJSON", INSPECT]) {
    Object.defineProperty(object, name, { value: text, configurable: true });
  }
}
