/** Entries of an answer that comes in pages. */

/** Each entry, in the order of the pages. A page is asked for when the one before is used up. */
export async function* entriesOf<Page extends { nextCursor?: string | undefined }, Entry>(
  ask: (cursor: string | undefined) => Promise<Page>,
  entries: (page: Page) => readonly Entry[],
): AsyncGenerator<Entry, void, undefined> {
  let cursor: string | undefined;
  do {
    const page = await ask(cursor);
    yield* entries(page);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
}
