/** The store: namespaces, their items, and one item with its versions. */

import type { Thing } from "../../api/capabilities.js";
import { methodText, type Sampled, samplesOf, samplesOfAll } from "../../api/snippets.js";
import type { StoreRoute } from "../../app/route.js";
import { ActionBar } from "../../parts/action.js";
import { Allowed } from "../../parts/allowed.js";
import { ShowAsCode } from "../../parts/code.js";
import { conditionsOf } from "./conditions.js";
import { NewItem } from "./item_dialogs.js";
import { ItemView } from "./item_view.js";
import { Items } from "./items.js";
import { Namespaces, PAGE_NAMESPACES } from "./namespaces.js";
import { SearchForm } from "./search_form.js";

export default function StorePage({ route }: { route: StoreRoute }) {
  const { namespace, key } = route;
  return (
    <>
      <header className="page-head">
        <h1>Store</h1>
        <ShowAsCode samples={samples(route)} />
      </header>
      <div className="two-columns">
        <Namespaces
          label="Namespaces"
          chosen={namespace}
          to={(chosen) => ({ page: "store", namespace: chosen })}
        />
        <div className="column-main">
          {key === undefined ? (
            <>
              <ActionBar
                label="Actions of the namespace"
                actions={[
                  {
                    label: "New item",
                    needs: [{ operation: "put_item", thing: placeOf(namespace) }],
                    dialog: (close) => <NewItem namespace={namespace} close={close} />,
                  },
                ]}
              />
              <Allowed needs={[{ operation: "search_items" }]}>
                <SearchForm key={JSON.stringify(route)} route={route} />
                <Items route={route} />
              </Allowed>
            </>
          ) : (
            <ItemView namespace={namespace} itemKey={key} version={route.version} />
          )}
        </div>
      </div>
    </>
  );
}

/** Without a namespace the dialog asks for one. */
function placeOf(namespace: readonly string[]): Thing | undefined {
  return namespace.length === 0 ? undefined : { namespace, isNew: true };
}

function samples(route: StoreRoute) {
  const { namespace, key } = route;
  if (key !== undefined) {
    return samplesOf(
      { method: "POST", path: "/v1/store/get", body: { namespace, key, refresh_ttl: false } },
      { typescript: methodText("store.get", namespace, key, { refreshTtl: false }) },
    );
  }
  const found = conditionsOf(route);
  const search = { ...(found instanceof Error ? {} : found), limit: 50 };
  const list: Sampled = {
    call: { method: "POST", path: "/v1/store/search", body: { prefix: namespace, ...search } },
    typescript: methodText("store.search", namespace, search),
  };
  return samplesOfAll([list, NAMESPACES_SAMPLE]);
}

const COUNTED = { counts: true, limit: PAGE_NAMESPACES };
const NAMESPACES_SAMPLE: Sampled = {
  call: { method: "POST", path: "/v1/store/namespaces", body: COUNTED },
  typescript: methodText("store.listNamespaces", COUNTED),
};
