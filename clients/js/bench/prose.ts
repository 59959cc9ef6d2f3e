/** Prose as people write it: the documentation in the types of installed packages, each paragraph used once. */

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const PACKAGES = [
  "@langchain/core",
  "@langchain/langgraph",
  "@langchain/langgraph-sdk",
  "langchain",
  "deepagents",
  "vite",
];
const MODULES = fileURLToPath(new URL("../../../node_modules/", import.meta.url));
const CHARACTERS_MIN = 40;

/** Paragraphs in an order that the seed decides, none twice. */
export class Prose {
  static #paragraphs: string[] | undefined;
  readonly #text: string;
  #at = 0;

  constructor(seed: number) {
    Prose.#paragraphs ??= paragraphs();
    this.#text = shuffled(Prose.#paragraphs, seed).join("\n\n");
  }

  /** The next so many characters. */
  take(characters: number): string {
    const end = this.#at + characters;
    if (end > this.#text.length)
      throw new Error(`there are ${this.#text.length} characters of prose`);
    const taken = this.#text.slice(this.#at, end);
    this.#at = end;
    return taken;
  }
}

function paragraphs(): string[] {
  const found = new Set<string>();
  for (const name of PACKAGES) {
    const folder = `${MODULES}${name}/dist`;
    const files = readdirSync(folder, { recursive: true }).map(String).sort();
    for (const file of files.filter((it) => it.endsWith(".d.ts"))) {
      for (const [, comment = ""] of readFileSync(`${folder}/${file}`, "utf8").matchAll(
        /\/\*\*([\s\S]*?)\*\//g,
      )) {
        const text = comment.replaceAll(/^\s*\* ?/gm, "");
        for (const part of text.split(/\n\s*\n/)) {
          if (part.trim().length >= CHARACTERS_MIN) found.add(part.trim());
        }
      }
    }
  }
  return [...found];
}

function shuffled(values: readonly string[], seed: number): string[] {
  let state = seed;
  const made = [...values];
  for (let at = made.length - 1; at > 0; at -= 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const other = Math.floor((state / 2 ** 32) * (at + 1));
    [made[at], made[other]] = [made[other] as string, made[at] as string];
  }
  return made;
}
