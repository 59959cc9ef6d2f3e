/** Text that looks like prose to a compressor: words of a fixed list, as often as words are, the same in every run. */

const SYLLABLES = "ba ce di fo gu la me ni po ru sa te vi wo xy tran ment ing ble ous".split(" ");

export class Prose {
  #state: number;
  readonly #words: string[];

  constructor(seed: number) {
    this.#state = seed;
    this.#words = Array.from({ length: 4_000 }, () => {
      return Array.from(
        { length: 1 + this.#below(4) },
        () => SYLLABLES[this.#below(SYLLABLES.length)],
      ).join("");
    });
  }

  /** About so many characters. */
  take(characters: number): string {
    const words: string[] = [];
    for (let length = 0; length < characters; length += (words.at(-1)?.length ?? 0) + 1) {
      // The square of an even number prefers the first ones, as language does.
      words.push(
        this.#words[Math.floor((this.#below(1_000) / 1_000) ** 2 * this.#words.length)] ?? "",
      );
    }
    return words.join(" ").slice(0, characters);
  }

  #below(count: number): number {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((this.#state / 2 ** 32) * count);
  }
}
