/** Items of a namespace and of those below it. Values are loaded when an item is opened. */

import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import type { Item } from "threadkeep";
import { useApi } from "../../api/context.js";
import { useIsStoreFollowed } from "../../app/followed.js";
import { hasToAsk, isLive, listInterval, untilExpiry } from "../../app/live.js";
import { navigate } from "../../app/location.js";
import type { StoreRoute } from "../../app/route.js";
import { type FollowedItems, isBelow } from "../../app/store_refresh.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Rows, useLoadMore } from "../../parts/rows.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { Size, Time } from "../../parts/units.js";
import { type Conditions, conditionsOf } from "./conditions.js";

const PAGE_ITEMS = 100;
const ROW_PX = 56;

export function Items({ route }: { route: StoreRoute }) {
  const conditions = conditionsOf(route);
  if (conditions instanceof Error) return <Failure error={conditions} />;
  return <FoundItems route={route} conditions={conditions} />;
}

function FoundItems({ route, conditions }: { route: StoreRoute; conditions: Conditions }) {
  const { client } = useApi();
  const { namespace, q, mode, filter } = route;
  // Vectors come later than their item, and nothing tells of them.
  const isTold = mode !== "meaning" && mode !== "hybrid";
  const isFollowed = useIsStoreFollowed() && isTold;
  const query = useInfiniteQuery({
    queryKey: ["items", namespace, q, mode, filter],
    queryFn: ({ pageParam: cursor, signal }) => {
      // To look at an item is no use of it: its life is not extended.
      const options = {
        ...conditions,
        limit: PAGE_ITEMS,
        values: false,
        refreshTtl: false,
        cursor,
        signal,
      };
      return client.store.search(namespace, options);
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    meta: { items: isTold ? followedItems(route) : undefined },
    refetchInterval: (asked) => {
      if (hasToAsk(isFollowed, asked)) return listInterval(asked);
      const pages = asked.state.data?.pages ?? [];
      return isLive(pages.length) ? untilExpiry(pages.flatMap((page) => page.items)) : false;
    },
    placeholderData: keepPreviousData,
  });
  const { data, error, refetch, isFetchingNextPage } = query;
  const loadMore = useLoadMore(query);
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading />;
  const items = data.pages.flatMap((page) => page.items);
  const omitted = data.pages[0]?.omitted ?? 0;
  if (items.length === 0) {
    return (
      <Empty title={q !== undefined ? "No item meets the search" : "No items here"}>
        Agents put them with a store.
      </Empty>
    );
  }
  return (
    <>
      {omitted > 0 ? (
        <p className="note">{omitted} large files are not listed. Files shows them.</p>
      ) : null}
      <Rows
        label="Items"
        rows={items}
        keyOf={({ namespace: labels, key }) => JSON.stringify([labels, key])}
        heightPx={ROW_PX}
        render={(item) => <ItemRow item={item} depth={namespace.length} />}
        onOpen={({ namespace: labels, key }) => navigate({ page: "store", namespace: labels, key })}
        onEnd={loadMore}
      />
      {isFetchingNextPage ? <Loading what="Loading more" /> : null}
    </>
  );
}

function followedItems({ namespace, mode }: StoreRoute): FollowedItems {
  return {
    isTouchedBy: (change) => isBelow(change.namespace, namespace),
    isCostly: () => mode === "words",
  };
}

function ItemRow({ item, depth }: { item: Item; depth: number }) {
  const { namespace, key } = item;
  const below = namespace.slice(depth);
  return (
    <div className="item-row">
      <Link to={{ page: "store", namespace, key }} className="item-key">
        <Marked text={key === "" ? "(empty key)" : key} />
      </Link>
      <div className="thread-facts">
        {below.length > 0 ? <Marked text={below.join(" / ")} /> : null}
        <span>version {item.version}</span>
        <Size bytes={item.sizeBytes} />
        <Time at={item.updatedAt} />
        {item.score === undefined ? null : <span>score {item.score.toFixed(3)}</span>}
        {item.expiresAt ? (
          <span>
            expires <Time at={item.expiresAt} />
          </span>
        ) : null}
      </div>
    </div>
  );
}
