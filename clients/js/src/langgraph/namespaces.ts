/** Namespaces: arrays of labels. What LangGraph refuses is refused here in its words, before anything is sent. */

import { InvalidNamespaceError } from "@langchain/langgraph-checkpoint";
import { InvalidError } from "../errors.js";
import { wellFormed } from "../wire/packing.js";

/** Root label that LangGraph keeps to itself: reads may name it, puts may not. */
const RESERVED_ROOT = "langgraph";

/** The labels of a namespace that is read or deleted, or of a prefix. */
export function labelsOf(namespace: unknown, field = "namespace"): string[] {
  if (!Array.isArray(namespace)) {
    throw new InvalidError(`${field} must be an array of labels`, { field });
  }
  return namespace.map((label) => labelOf(label, namespace, field));
}

/** The same of an item that is put: not empty, and not below the reserved root. */
export function labelsOfPut(namespace: unknown): string[] {
  const labels = labelsOf(namespace);
  if (labels.length === 0) throw new InvalidNamespaceError("Namespace cannot be empty.");
  if (labels[0] === RESERVED_ROOT) {
    throw new InvalidNamespaceError(
      `Root label for namespace cannot be "${RESERVED_ROOT}". Got: ${labels}`,
    );
  }
  return labels;
}

function labelOf(label: unknown, namespace: readonly unknown[], field: string): string {
  const found = `Invalid namespace label '${label}' found in ${namespace}.`;
  if (typeof label !== "string") {
    throw new InvalidNamespaceError(
      `${found} Namespace labels must be strings, but got ${typeof label}.`,
    );
  }
  if (label.includes(".")) {
    throw new InvalidNamespaceError(`${found} Namespace labels cannot contain periods ('.').`);
  }
  if (label.includes("\0")) {
    throw new InvalidNamespaceError(
      `${found} Namespace labels cannot contain NUL bytes ('\\x00').`,
    );
  }
  if (label === "") {
    throw new InvalidNamespaceError(
      `Namespace labels cannot be empty strings. Got ${label} in ${namespace}`,
    );
  }
  return wellFormed(label, field);
}
