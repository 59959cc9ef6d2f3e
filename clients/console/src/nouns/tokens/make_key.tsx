/** Makes a key. */

import { useId, useRef, useState } from "react";
import { useApi } from "../../api/context.js";
import { ActionForm, CheckField, TextField } from "../../parts/action_form.js";
import { SecretDialog } from "./secret_dialog.js";

const DAY_SECONDS = 86_400;
/** How long a key may live. */
const LIVES = [
  { title: "Until it is revoked" },
  { title: "30 days", days: 30 },
  { title: "90 days", days: 90 },
  { title: "One year", days: 365 },
] as const;

export function MakeKey({ close }: { close: () => void }) {
  const { client } = useApi();
  const [name, setName] = useState("");
  const [subject, setSubject] = useState("");
  const [readOnly, setReadOnly] = useState(false);
  const [life, setLife] = useState(0);
  // The cache of answers never has it.
  const made = useRef<string>(undefined);
  const [secret, setSecret] = useState<string>();
  if (secret !== undefined) {
    return <SecretDialog title="The new key" what="the key" secret={secret} close={close} />;
  }
  const run = async () => {
    const created = await client.keys.create({
      name: name.trim() || undefined,
      subject: subject || undefined,
      readOnly: readOnly || undefined,
      ttlSeconds: ttlOf(life),
    });
    made.current = created.key;
  };
  return (
    <ActionForm
      title="Make a key"
      submit="Make"
      needs={[{ operation: "create_key" }]}
      run={run}
      onDone={() => {
        setSecret(made.current);
        made.current = undefined;
      }}
      close={close}
    >
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        note="For people: what uses the key."
        isFirst
      />
      <TextField
        label="Subject"
        value={subject}
        onChange={setSubject}
        note="Whom the key speaks for. Without one it has the whole tenant."
      />
      <LifeField chosen={life} onChange={setLife} />
      <CheckField label="It only reads" isChecked={readOnly} onChange={setReadOnly} />
    </ActionForm>
  );
}

function ttlOf(life: number): number | undefined {
  const chosen = LIVES[life];
  return chosen !== undefined && "days" in chosen ? chosen.days * DAY_SECONDS : undefined;
}

function LifeField({ chosen, onChange }: { chosen: number; onChange: (life: number) => void }) {
  const id = useId();
  return (
    <div className="field">
      <label htmlFor={id}>Valid</label>
      <select
        id={id}
        value={chosen}
        aria-describedby={`${id}-note`}
        onChange={({ target }) => onChange(Number(target.value))}
      >
        {LIVES.map(({ title }, at) => (
          <option key={title} value={at}>
            {title}
          </option>
        ))}
      </select>
      <p id={`${id}-note`} className="note">
        Tokens that are made with the key end with it.
      </p>
    </div>
  );
}
