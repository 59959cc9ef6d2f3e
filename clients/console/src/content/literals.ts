/** Values as literals of Python, TypeScript and the shell, for code that a person copies. */

import { isFields } from "./fields.js";
import { escapeHidden, escapeHiddenForPython } from "./hidden_characters.js";

export function pythonLiteral(value: unknown): string {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "string") return escapeHiddenForPython(JSON.stringify(value));
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(", ")}]`;
  if (isFields(value)) {
    const entries = Object.entries(value).map(
      ([name, one]) => `${pythonLiteral(name)}: ${pythonLiteral(one)}`,
    );
    return `{${entries.join(", ")}}`;
  }
  return Object.is(value, -0) ? "-0" : String(value);
}

export function scriptLiteral(value: unknown): string {
  if (value === undefined) return "undefined";
  if (typeof value === "bigint") return `${value}n`;
  if (Array.isArray(value)) return `[${value.map(scriptLiteral).join(", ")}]`;
  if (isFields(value)) {
    const entries = Object.entries(value).map(
      ([name, one]) => `${nameText(name)}: ${scriptLiteral(one)}`,
    );
    return entries.length === 0 ? "{}" : `{ ${entries.join(", ")} }`;
  }
  return Object.is(value, -0) ? "-0" : escapeHidden(JSON.stringify(value) ?? "undefined");
}

function nameText(name: string): string {
  // `__proto__` as a name would set the prototype.
  if (name === "__proto__") return '["__proto__"]';
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : escapeHidden(JSON.stringify(name));
}

/** One word of a shell. */
export function shellWord(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
