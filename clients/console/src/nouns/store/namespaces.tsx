/** The namespaces that hold items, as a tree of links. */

import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { useApi } from "../../api/context.js";
import type { Route } from "../../app/route.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Failure, Loading } from "../../parts/states.js";
import { type TreeNode, treeOf } from "./namespace_tree.js";

const PAGE_NAMESPACES = 500;

export function useNamespaces() {
  const { client } = useApi();
  return useInfiniteQuery({
    queryKey: ["namespaces"],
    queryFn: ({ pageParam: offset, signal }) =>
      client.store.namespaces({ limit: PAGE_NAMESPACES, offset, signal }),
    initialPageParam: 0,
    getNextPageParam: (page, _, offset) =>
      page.length < PAGE_NAMESPACES ? undefined : offset + page.length,
  });
}

interface Given {
  /** The namespace that is shown. */
  chosen: readonly string[];
  to: (namespace: string[]) => Route;
  label: string;
}

export function Namespaces({ chosen, to, label }: Given) {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage } = useNamespaces();
  const tree = useMemo(() => treeOf(data?.pages.flat() ?? []), [data]);
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading />;
  if (tree.length === 0) return <p className="note">No namespace holds an item.</p>;
  return (
    <nav className="namespaces" aria-label={label}>
      <Level nodes={tree} chosen={chosen} to={to} />
      {hasNextPage ? (
        <button
          type="button"
          className="button"
          disabled={isFetchingNextPage}
          onClick={() => void fetchNextPage()}
        >
          More namespaces
        </button>
      ) : null}
    </nav>
  );
}

function Level({ nodes, chosen, to }: Omit<Given, "label"> & { nodes: TreeNode[] }) {
  return (
    <ul>
      {nodes.map(({ label, namespace, children }) => {
        const isCurrent =
          chosen.length === namespace.length && namespace.every((one, at) => one === chosen[at]);
        return (
          <li key={label}>
            <Link to={to(namespace)} isCurrent={isCurrent}>
              <Marked text={label} />
            </Link>
            {children.length > 0 ? <Level nodes={children} chosen={chosen} to={to} /> : null}
          </li>
        );
      })}
    </ul>
  );
}
