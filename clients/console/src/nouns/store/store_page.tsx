/** The store: namespaces, their items, and one item with its versions. */

import { type FormEvent, useEffect, useId, useRef, useState } from "react";
import type { Thing } from "../../api/capabilities.js";
import { methodText, samplesOf } from "../../api/snippets.js";
import { useShortcut } from "../../app/keyboard.js";
import { navigate } from "../../app/location.js";
import type { StoreRoute } from "../../app/route.js";
import { ActionBar } from "../../parts/action.js";
import { ShowAsCode } from "../../parts/code.js";
import { NewItem } from "./item_dialogs.js";
import { ItemView } from "./item_view.js";
import { Items } from "./items.js";
import { Namespaces } from "./namespaces.js";

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
              <SearchForm key={JSON.stringify(route)} route={route} />
              <Items route={route} />
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

function samples({ namespace, key, q, mode }: StoreRoute) {
  if (key !== undefined) {
    return samplesOf(
      { method: "POST", path: "/v1/store/get", body: { namespace, key, refresh_ttl: false } },
      { typescript: methodText("store.get", namespace, key, { refreshTtl: false }) },
    );
  }
  const words = mode === "words" && q ? { query: q, mode: "text" } : {};
  const filter = mode === "filter" && q ? { filter: parsed(q) } : {};
  return samplesOf(
    {
      method: "POST",
      path: "/v1/store/search",
      body: { prefix: namespace, ...words, ...filter, limit: 50 },
    },
    { typescript: methodText("store.search", namespace, { ...words, ...filter, limit: 50 }) },
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function SearchForm({ route }: { route: StoreRoute }) {
  const [mode, setMode] = useState<"words" | "filter">(route.mode ?? "filter");
  const [text, setText] = useState(route.q ?? "");
  const field = useRef<HTMLInputElement>(null);
  const ids = useId();
  useShortcut("/", () => field.current?.focus());
  useEffect(() => setText(route.q ?? ""), [route.q]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const q = text.trim() || undefined;
    navigate({
      page: "store",
      namespace: route.namespace,
      q,
      mode: q === undefined ? undefined : mode,
    });
  };
  return (
    <search>
      <form className="filters" onSubmit={submit}>
        <label htmlFor={`${ids}-mode`}>Find by</label>
        <select
          id={`${ids}-mode`}
          value={mode}
          onChange={({ target }) => setMode(target.value === "words" ? "words" : "filter")}
        >
          <option value="filter">filter</option>
          <option value="words">words</option>
        </select>
        <input
          ref={field}
          className="wide-input"
          aria-label={mode === "words" ? "Words" : "Filter, an object of JSON"}
          placeholder={mode === "words" ? "words of the items" : '{"kind": "note"}'}
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button type="submit" className="button">
          Search
        </button>
      </form>
    </search>
  );
}
