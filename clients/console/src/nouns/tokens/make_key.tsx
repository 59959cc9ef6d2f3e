/** Makes a key. */

import { useState } from "react";
import { useApi } from "../../api/context.js";
import { ActionForm, CheckField, TextField } from "../../parts/action_form.js";
import { Choice } from "./grant_fields.js";
import { SecretDialog, useShownOnce } from "./secret_dialog.js";

/** Days that a key may live; 0 is until it is revoked. */
const LIVES = [
  ["0", "Until it is revoked"],
  ["30", "30 days"],
  ["90", "90 days"],
  ["365", "One year"],
] as const;
const DAY_SECONDS = 86_400;

export function MakeKey({ close }: { close: () => void }) {
  const { client } = useApi();
  const [name, setName] = useState("");
  const [subject, setSubject] = useState("");
  const [readOnly, setReadOnly] = useState(false);
  const [days, setDays] = useState<(typeof LIVES)[number][0]>("0");
  const { shown: secret, keep, show } = useShownOnce<string>();
  if (secret !== undefined) {
    return <SecretDialog title="The new key" what="the key" secret={secret} close={close} />;
  }
  const run = async () => {
    const created = await client.keys.create({
      name: name.trim() || undefined,
      subject: subject || undefined,
      readOnly: readOnly || undefined,
      ttlSeconds: Number(days) * DAY_SECONDS || undefined,
    });
    keep(created.key);
  };
  return (
    <ActionForm
      title="Make a key"
      submit="Make"
      needs={[{ operation: "create_key" }]}
      run={run}
      onDone={show}
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
      <div className="toolbar">
        <Choice label="Valid" value={days} options={LIVES} onChange={setDays} />
        <span className="note">Tokens that are made with the key end with it.</span>
      </div>
      <CheckField label="It only reads" isChecked={readOnly} onChange={setReadOnly} />
    </ActionForm>
  );
}
