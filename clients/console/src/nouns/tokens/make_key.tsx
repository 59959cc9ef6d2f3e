/** Makes a key. */

import { useRef, useState } from "react";
import { useApi } from "../../api/context.js";
import { ActionForm, CheckField, TextField } from "../../parts/action_form.js";
import { SecretDialog } from "./secret_dialog.js";

export function MakeKey({ close }: { close: () => void }) {
  const { client } = useApi();
  const [name, setName] = useState("");
  const [subject, setSubject] = useState("");
  const [readOnly, setReadOnly] = useState(false);
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
      <CheckField label="It only reads" isChecked={readOnly} onChange={setReadOnly} />
    </ActionForm>
  );
}
