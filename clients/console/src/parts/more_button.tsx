/** The button that loads the next page of a list; absent where there is none. */

interface Given {
  query: {
    hasNextPage: boolean;
    isFetchingNextPage: boolean;
    fetchNextPage: () => Promise<unknown>;
  };
  title: string;
}

export function MoreButton({ query, title }: Given) {
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  if (!hasNextPage) return null;
  return (
    <button
      type="button"
      className="button"
      disabled={isFetchingNextPage}
      onClick={() => void fetchNextPage()}
    >
      {title}
    </button>
  );
}
