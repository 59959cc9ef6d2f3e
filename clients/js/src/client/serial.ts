/** Work of one key one after the other, in the order of the calls; work of different keys side by side. */

export class Serial {
  readonly #last = new Map<string, Promise<unknown>>();

  /** What the work before it came to is no matter of this one. */
  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const mine = before.then(work, work);
    this.#last.set(key, mine);
    const forget = () => {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    };
    mine.then(forget, forget);
    return mine;
  }
}
