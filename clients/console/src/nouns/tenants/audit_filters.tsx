/** Which events of the audit log are listed: an act, and a time in UTC. */

import { type FormEvent, useId, useRef, useState } from "react";
import { useShortcut } from "../../app/keyboard.js";
import { navigate } from "../../app/location.js";
import { ACTS, titleOfAct } from "./acts.js";
import type { AuditFilter } from "./queries.js";

export function AuditFilters({ filter }: { filter: AuditFilter }) {
  const [act, setAct] = useState(filter.act);
  const [since, setSince] = useState(fieldTime(filter.since));
  const [until, setUntil] = useState(fieldTime(filter.until));
  const first = useRef<HTMLSelectElement>(null);
  const id = useId();
  useShortcut("/", () => first.current?.focus());
  const submit = (event: FormEvent) => {
    event.preventDefault();
    navigate({ page: "audit", act, since: utcTime(since), until: utcTime(until) });
  };
  return (
    <search>
      <form className="filters" onSubmit={submit}>
        <label htmlFor={id}>Act</label>
        <select
          id={id}
          ref={first}
          value={act ?? ""}
          onChange={({ target }) => setAct(ACTS.find((one) => one === target.value))}
        >
          <option value="">any</option>
          {ACTS.map((one) => (
            <option key={one} value={one}>
              {titleOfAct(one)}
            </option>
          ))}
        </select>
        <TimeField label="Since (UTC)" value={since} onChange={setSince} />
        <TimeField label="Until (UTC)" value={until} onChange={setUntil} />
        <button type="submit" className="button">
          Show
        </button>
      </form>
    </search>
  );
}

interface FieldGiven {
  label: string;
  value: string;
  onChange: (value: string) => void;
}

function TimeField({ label, value, onChange }: FieldGiven) {
  const id = useId();
  return (
    <>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        type="datetime-local"
        step={1}
        value={value}
        onChange={({ target }) => onChange(target.value)}
      />
    </>
  );
}

/** As the field of a browser has it: without a zone, and to the second. */
function fieldTime(time: string | undefined): string {
  return time?.slice(0, 19) ?? "";
}

function utcTime(field: string): string | undefined {
  const time = new Date(`${field}Z`);
  return Number.isNaN(time.getTime()) ? undefined : `${time.toISOString().slice(0, 19)}Z`;
}
