/** Tells views that a value has changed which React does not keep. */

export class Listeners {
  readonly #all = new Set<() => void>();

  /** As `useSyncExternalStore` takes it. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#all.add(listener);
    return () => this.#all.delete(listener);
  };

  notify(): void {
    for (const listener of this.#all) listener();
  }
}
