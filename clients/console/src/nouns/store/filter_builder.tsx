/** Builds the JSON of a filter from conditions. */

import { useId, useState } from "react";
import {
  type Condition,
  draftOf,
  type FilterDraft,
  filterText,
  NEW_CONDITION,
  OPERATORS,
  problemOf,
} from "./filter_draft.js";

interface Given {
  /** The JSON as it is now. */
  text: string;
  onChange: (text: string) => void;
}

/** Begins with what is typed already, where it has the form that this makes. */
export function FilterBuilder({ text, onChange }: Given) {
  const [draft, setDraft] = useState<FilterDraft | undefined>(() => draftOf(text));
  if (draft === undefined) {
    return (
      <p className="note">
        The filter has another form than the one that is built here.{" "}
        <button
          type="button"
          className="link-button"
          onClick={() => setDraft({ join: "$and", conditions: [NEW_CONDITION] })}
        >
          Begin a new one
        </button>
      </p>
    );
  }
  const change = (next: FilterDraft) => {
    setDraft(next);
    if (problemOf(next) === undefined) onChange(filterText(next));
  };
  const { conditions, join } = draft;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a border and a legend that is seen
    <div className="filter-builder" role="group" aria-label="Conditions of the filter">
      {conditions.length > 1 ? <Join draft={draft} onChange={change} /> : null}
      {conditions.map((one, at) => (
        <ConditionFields
          // biome-ignore lint/suspicious/noArrayIndexKey: a condition is known by its place
          key={at}
          number={at + 1}
          condition={one}
          onChange={(changes) =>
            change({
              join,
              conditions: conditions.map((it, i) => (i === at ? { ...it, ...changes } : it)),
            })
          }
          onRemove={
            conditions.length === 1
              ? undefined
              : () => change({ join, conditions: conditions.filter((_, i) => i !== at) })
          }
        />
      ))}
      <div className="toolbar">
        <button
          type="button"
          className="button"
          onClick={() => change({ join, conditions: [...conditions, NEW_CONDITION] })}
        >
          Add a condition
        </button>
        <span role="status" className="note">
          {problemOf(draft) ?? "The filter above has these conditions."}
        </span>
      </div>
    </div>
  );
}

function Join({ draft, onChange }: { draft: FilterDraft; onChange: (next: FilterDraft) => void }) {
  const id = useId();
  return (
    <p className="filters">
      <label htmlFor={id}>An item must meet</label>
      <select
        id={id}
        value={draft.join}
        onChange={({ target }) =>
          onChange({ ...draft, join: target.value === "$or" ? "$or" : "$and" })
        }
      >
        <option value="$and">all of them</option>
        <option value="$or">one of them</option>
      </select>
    </p>
  );
}

interface FieldsGiven {
  number: number;
  condition: Condition;
  onChange: (changes: Partial<Condition>) => void;
  onRemove: (() => void) | undefined;
}

function ConditionFields({ number, condition, onChange, onRemove }: FieldsGiven) {
  const { path, operator, value } = condition;
  return (
    <p className="filters">
      <input
        aria-label={`Field of condition ${number}`}
        placeholder="kind.name"
        spellCheck={false}
        value={path}
        onChange={({ target }) => onChange({ path: target.value })}
      />
      <select
        aria-label={`Comparison of condition ${number}`}
        value={operator}
        onChange={({ target }) =>
          onChange({ operator: OPERATORS.find(([one]) => one === target.value)?.[0] ?? "$eq" })
        }
      >
        {OPERATORS.map(([one, title]) => (
          <option key={one} value={one}>
            {title}
          </option>
        ))}
      </select>
      <input
        aria-label={`Value of condition ${number}, as JSON`}
        placeholder={operator === "$in" || operator === "$nin" ? '["a", "b"]' : '"note"'}
        spellCheck={false}
        value={value}
        onChange={({ target }) => onChange({ value: target.value })}
      />
      {onRemove === undefined ? null : (
        <button type="button" className="button" onClick={onRemove}>
          Remove<span className="visually-hidden"> condition {number}</span>
        </button>
      )}
    </p>
  );
}
