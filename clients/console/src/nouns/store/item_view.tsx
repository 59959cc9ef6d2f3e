/** One item: its value, and the versions that are kept. */

import { useQuery } from "@tanstack/react-query";
import { useApi } from "../../api/context.js";
import { useIsStoreFollowed } from "../../app/followed.js";
import { hasToAsk, LIST_MS, untilExpiry } from "../../app/live.js";
import { followedItem } from "../../app/store_refresh.js";
import { JsonTree } from "../../content/json_tree_view.js";
import { CopyButton } from "../../parts/copy.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { Size, Time } from "../../parts/units.js";
import { ItemActions } from "./item_actions.js";
import { storedText } from "./kept_item.js";
import { Versions } from "./versions.js";

interface Given {
  namespace: string[];
  itemKey: string;
  /** Absent: the present one. */
  version: string | undefined;
}

export function ItemView({ namespace, itemKey, version }: Given) {
  return (
    <article className="item">
      <h2>
        <Marked text={itemKey === "" ? "(empty key)" : itemKey} />
        <CopyButton text={() => itemKey} what="the key" />
      </h2>
      {version === undefined ? (
        <PresentValue namespace={namespace} itemKey={itemKey} />
      ) : (
        <EarlierValue namespace={namespace} itemKey={itemKey} version={Number(version)} />
      )}
      <Versions namespace={namespace} itemKey={itemKey} version={version} />
    </article>
  );
}

function PresentValue({ namespace, itemKey }: { namespace: string[]; itemKey: string }) {
  const { client } = useApi();
  const isFollowed = useIsStoreFollowed();
  const { data, error, refetch } = useQuery({
    queryKey: ["item", namespace, itemKey],
    queryFn: async ({ signal }) =>
      (await client.store.get(namespace, itemKey, { refreshTtl: false, signal })) ?? null,
    meta: { items: followedItem(namespace, itemKey) },
    refetchInterval: (query) => {
      if (hasToAsk(isFollowed, query)) return LIST_MS;
      return untilExpiry(query.state.data ? [query.state.data] : []);
    },
    structuralSharing: false,
  });
  if (error) return <Failure error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  if (data === null)
    return (
      <Empty title="There is no such item">It was deleted, has expired, or is not granted.</Empty>
    );
  return (
    <>
      <p className="thread-facts">
        <span>version {data.version}</span>
        <Size bytes={data.sizeBytes} />
        <span>
          created <Time at={data.createdAt} />
        </span>
        <span>
          changed <Time at={data.updatedAt} />
        </span>
        {data.expiresAt ? (
          <span>
            expires <Time at={data.expiresAt} />
          </span>
        ) : null}
      </p>
      <ItemActions namespace={namespace} itemKey={itemKey} />
      <JsonTree
        value={data.value}
        what="the value"
        text={() => storedText(client, { namespace, itemKey }, data.version)}
      />
    </>
  );
}

function EarlierValue({
  namespace,
  itemKey,
  version,
}: {
  namespace: string[];
  itemKey: string;
  version: number;
}) {
  const { client } = useApi();
  const { data, error, refetch } = useQuery({
    queryKey: ["item version", namespace, itemKey, version],
    queryFn: async ({ signal }) =>
      (await client.store.getVersion(namespace, itemKey, version, { signal })) ?? null,
    structuralSharing: false,
  });
  if (error) return <Failure error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  if (data === null) return <Empty title="This version is not kept" />;
  return (
    <>
      <p className="callout">
        Version {version}.{" "}
        <Link to={{ page: "store", namespace, key: itemKey }}>Show the present one</Link>
      </p>
      <JsonTree value={data.value} what="the value" />
    </>
  );
}
