/** The namespaces that hold items, as a tree of links with how many items each one holds. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useApi } from "../../api/context.js";
import { useIsStoreFollowed } from "../../app/followed.js";
import { countedInterval, hasToAsk } from "../../app/live.js";
import type { Route } from "../../app/route.js";
import { Allowed } from "../../parts/allowed.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { MoreButton } from "../../parts/more_button.js";
import { Failure, Loading } from "../../parts/states.js";
import { Count } from "../../parts/units.js";
import { type TreeNode, treeOf } from "./namespace_tree.js";

/** The most that come with counts. */
export const PAGE_NAMESPACES = 100;

export function useNamespaces() {
  const { client } = useApi();
  const isFollowed = useIsStoreFollowed();
  return useInfiniteQuery({
    queryKey: ["namespaces"],
    queryFn: ({ pageParam: cursor, signal }) =>
      client.store.listNamespaces({ counts: true, limit: PAGE_NAMESPACES, cursor, signal }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ nextCursor }) => nextCursor,
    meta: { items: { isTouchedBy: () => true, isCostly: () => true } },
    refetchInterval: (query) => (hasToAsk(isFollowed, query) ? countedInterval(query) : false),
  });
}

interface Given {
  /** The namespace that is shown. */
  chosen: readonly string[];
  to: (namespace: string[]) => Route;
  label: string;
}

export function Namespaces(given: Given) {
  return (
    <Allowed needs={[{ operation: "list_namespaces" }]}>
      <Tree {...given} />
    </Allowed>
  );
}

function Tree({ chosen, to, label }: Given) {
  const query = useNamespaces();
  const { data, error, refetch } = query;
  const tree = useMemo(() => treeOf(data?.pages ?? []), [data]);
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading />;
  if (tree.length === 0) return <p className="note">No namespace holds an item.</p>;
  return (
    <nav className="namespaces" aria-label={label}>
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      <Level nodes={tree} chosen={chosen} to={to} />
      <MoreButton query={query} title="More namespaces" />
    </nav>
  );
}

function Level({ nodes, chosen, to }: Omit<Given, "label"> & { nodes: TreeNode[] }) {
  return (
    <ul>
      {nodes.map(({ label, namespace, children, items }) => {
        const isCurrent =
          chosen.length === namespace.length && namespace.every((one, at) => one === chosen[at]);
        return (
          <li key={label}>
            <span className="counted-link">
              <Link to={to(namespace)} isCurrent={isCurrent}>
                <Marked text={label} />
              </Link>
              {items ? <Count of={items.count} hasMore={items.hasMore} what="items" /> : null}
            </span>
            {children.length > 0 ? <Level nodes={children} chosen={chosen} to={to} /> : null}
          </li>
        );
      })}
    </ul>
  );
}
