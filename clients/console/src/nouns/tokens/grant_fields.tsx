/** The fields of the grants of a token. */

import { useId } from "react";
import type { Verb } from "../../api/capabilities.js";
import { CheckField, TextField } from "../../parts/action_form.js";
import { type GrantDraft, NEW_GRANT, NOUNS, SELECTORS, VERBS } from "./draft.js";

interface Given {
  grants: readonly GrantDraft[];
  onChange: (grants: readonly GrantDraft[]) => void;
}

const TITLES = {
  id: "the one with this name",
  prefix: "all with names that begin with",
  owned: "all that the subject made",
} as const;
const NAMES = {
  threads: "The id of a thread.",
  sessions: "The kind, then the key: claude:project/session.",
  snapshots: "The id of a snapshot.",
  namespaces:
    "Labels with slashes between them, and %2F for a slash: ann/notes. Without any, all namespaces.",
} as const;

export function GrantFields({ grants, onChange }: Given) {
  const replace = (at: number, ...by: GrantDraft[]) => onChange(grants.toSpliced(at, 1, ...by));
  return (
    <>
      {grants.map((grant, at) => (
        <OneGrant
          // biome-ignore lint/suspicious/noArrayIndexKey: a grant has no name but its place
          key={at}
          place={at + 1}
          grant={grant}
          onChange={(changes) => replace(at, { ...grant, ...changes })}
          onRemove={() => replace(at)}
        />
      ))}
      <div>
        <button type="button" className="button" onClick={() => onChange([...grants, NEW_GRANT])}>
          Add a grant
        </button>
      </div>
    </>
  );
}

interface OneGiven {
  place: number;
  grant: GrantDraft;
  onChange: (changes: Partial<GrantDraft>) => void;
  onRemove: () => void;
}

function OneGrant({ place, grant, onChange, onRemove }: OneGiven) {
  const { noun, by, name, verbs } = grant;
  const isByPrefix = noun === "namespaces";
  const turn = (verb: Verb, isOn: boolean) =>
    onChange({ verbs: VERBS.filter((one) => (one === verb ? isOn : verbs.includes(one))) });
  return (
    <fieldset className="grant">
      <legend>Grant {place}</legend>
      <div className="toolbar">
        <Choice
          label="Things"
          value={noun}
          options={NOUNS.map((one) => [one, one])}
          onChange={(chosen) => onChange({ noun: chosen })}
        />
        {isByPrefix ? null : (
          <Choice
            label="Which"
            value={by}
            options={SELECTORS.map((one) => [one, TITLES[one]])}
            onChange={(chosen) => onChange({ by: chosen })}
          />
        )}
        <button type="button" className="button" onClick={onRemove}>
          Remove
        </button>
      </div>
      {isByPrefix || by !== "owned" ? (
        <TextField
          label={isByPrefix ? "Namespace" : by === "id" ? "Name" : "Beginning of the name"}
          value={name}
          onChange={(text) => onChange({ name: text })}
          note={isByPrefix || by === "id" ? NAMES[noun] : "It ends in : or /."}
        />
      ) : null}
      <div className="toolbar">
        {VERBS.map((verb) => (
          <CheckField
            key={verb}
            label={verb}
            isChecked={verbs.includes(verb)}
            onChange={(isOn) => turn(verb, isOn)}
          />
        ))}
      </div>
    </fieldset>
  );
}

interface ChoiceGiven<Value extends string> {
  label: string;
  value: Value;
  options: readonly (readonly [Value, string])[];
  onChange: (value: Value) => void;
}

export function Choice<Value extends string>(given: ChoiceGiven<Value>) {
  const { label, value, options, onChange } = given;
  const id = useId();
  const choose = (text: string) => {
    const found = options.find(([one]) => one === text);
    if (found) onChange(found[0]);
  };
  return (
    <>
      <label htmlFor={id}>{label}</label>
      <select id={id} value={value} onChange={({ target }) => choose(target.value)}>
        {options.map(([one, title]) => (
          <option key={one} value={one}>
            {title}
          </option>
        ))}
      </select>
    </>
  );
}
