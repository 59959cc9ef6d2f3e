/** The versions of an item that are kept, each with a way back to it. */

import { useQuery } from "@tanstack/react-query";
import type { ItemVersion } from "threadkeep";
import { useApi } from "../../api/context.js";
import { useIsStoreFollowed } from "../../app/followed.js";
import { hasToAsk, LIST_MS } from "../../app/live.js";
import { followedItem } from "../../app/store_refresh.js";
import { ActionBar } from "../../parts/action.js";
import { Link } from "../../parts/link.js";
import { Failure } from "../../parts/states.js";
import { Size, Time } from "../../parts/units.js";
import { RestoreVersion } from "./restore_version.js";

interface Given {
  namespace: string[];
  itemKey: string;
  /** The one that is shown; absent: the present one. */
  version?: string | undefined;
}

export function Versions({ namespace, itemKey, version }: Given) {
  const { client } = useApi();
  const isFollowed = useIsStoreFollowed();
  const { data, error, refetch } = useQuery({
    queryKey: ["item versions", namespace, itemKey],
    queryFn: ({ signal }) => client.store.history(namespace, itemKey, { signal }),
    meta: { items: followedItem(namespace, itemKey) },
    refetchInterval: (query) => (hasToAsk(isFollowed, query) ? LIST_MS : false),
  });
  if (error) return <Failure error={error} retry={() => void refetch()} />;
  if (!data || data.versions.length <= 1) return null;
  return (
    <section>
      <h3>Versions that are kept</h3>
      <ul className="plain-list">
        {data.versions.map((one) => (
          <li key={one.version}>
            <VersionLink one={one} namespace={namespace} itemKey={itemKey} chosen={version} />
            {one.current ? null : (
              <ActionBar
                label={`Actions of version ${one.version}`}
                actions={[
                  {
                    label: "Restore",
                    needs: [{ operation: "restore_item_version", thing: { namespace } }],
                    dialog: (close) => (
                      <RestoreVersion
                        namespace={namespace}
                        itemKey={itemKey}
                        version={one.version}
                        close={close}
                      />
                    ),
                  },
                ]}
              />
            )}
          </li>
        ))}
      </ul>
      {data.nextCursor === undefined ? null : <p className="note">There are earlier ones.</p>}
    </section>
  );
}

function VersionLink(given: {
  one: ItemVersion;
  namespace: string[];
  itemKey: string;
  chosen: string | undefined;
}) {
  const { one, namespace, itemKey: key, chosen } = given;
  const version = one.current ? undefined : String(one.version);
  return (
    <>
      <Link to={{ page: "store", namespace, key, version }} isCurrent={chosen === version}>
        Version {one.version}
        {one.current ? ", present" : ""}
      </Link>{" "}
      <Size bytes={one.sizeBytes} /> <Time at={one.updatedAt} />
    </>
  );
}
