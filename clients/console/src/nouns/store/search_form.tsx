/** The form of a search in the store: by filter, by words, by meaning, or by words and meaning together. */

import { type FormEvent, useId, useRef, useState } from "react";
import { useInfo } from "../../app/info.js";
import { useShortcut } from "../../app/keyboard.js";
import { navigate } from "../../app/location.js";
import { STORE_MODES, type StoreMode, type StoreRoute } from "../../app/route.js";
import { isFilter, reasonAgainst } from "./conditions.js";
import { FilterBuilder } from "./filter_builder.js";

const TITLES: Record<StoreMode, string> = {
  filter: "filter",
  words: "words",
  meaning: "meaning",
  hybrid: "words and meaning",
};
const LABELS: Record<StoreMode, string> = {
  filter: "Filter, an object of JSON",
  words: "Words",
  meaning: "A text of this meaning",
  hybrid: "Words, and their meaning",
};

/** Every other address has another form. */
export function SearchForm({ route }: { route: StoreRoute }) {
  const [mode, setMode] = useState<StoreMode>(route.mode ?? "filter");
  const isOfFilter = isFilter(mode);
  const [text, setText] = useState(isFilter(route.mode) ? "" : (route.q ?? ""));
  const [filter, setFilter] = useState((isFilter(route.mode) ? route.q : route.filter) ?? "");
  const [isBuilding, setIsBuilding] = useState(false);
  const field = useRef<HTMLInputElement>(null);
  const { data: info } = useInfo();
  const ids = useId();
  useShortcut("/", () => field.current?.focus());
  const against = reasonAgainst(mode, info);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const { namespace } = route;
    const [q, condition] = [text.trim() || undefined, filter.trim() || undefined];
    navigate(
      isOfFilter || q === undefined
        ? { page: "store", namespace, q: condition, mode: condition ? "filter" : undefined }
        : { page: "store", namespace, q, mode, filter: condition },
    );
  };
  return (
    <search>
      <form className="filters" onSubmit={submit}>
        <label htmlFor={`${ids}-mode`}>Find by</label>
        <select
          id={`${ids}-mode`}
          value={mode}
          aria-describedby={against === undefined ? undefined : `${ids}-reason`}
          onChange={({ target }) =>
            setMode(STORE_MODES.find((one) => one === target.value) ?? "filter")
          }
        >
          {STORE_MODES.map((one) => (
            <option key={one} value={one} disabled={reasonAgainst(one, info) !== undefined}>
              {TITLES[one]}
            </option>
          ))}
        </select>
        {isOfFilter ? null : (
          <input
            ref={field}
            className="wide-input"
            aria-label={LABELS[mode]}
            placeholder={mode === "words" ? "words of the items" : "what does she drink?"}
            value={text}
            onChange={({ target }) => setText(target.value)}
          />
        )}
        <input
          ref={isOfFilter ? field : undefined}
          className="wide-input"
          aria-label={LABELS.filter}
          placeholder={isOfFilter ? '{"kind": "note"}' : "and a filter"}
          spellCheck={false}
          value={filter}
          onChange={({ target }) => setFilter(target.value)}
        />
        <button type="submit" className="button">
          Search
        </button>
        <button
          type="button"
          className="button"
          aria-expanded={isBuilding}
          onClick={() => setIsBuilding(!isBuilding)}
        >
          Build the filter
        </button>
      </form>
      {against === undefined ? null : (
        <p id={`${ids}-reason`} className="note">
          {against}
        </p>
      )}
      {mode === "words" || mode === "hybrid" ? (
        <p className="note">Words are found in namespaces that declare fields with texts.</p>
      ) : null}
      {isBuilding ? <FilterBuilder text={filter} onChange={setFilter} /> : null}
    </search>
  );
}
