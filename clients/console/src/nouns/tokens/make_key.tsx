/** Makes a key of a tenant or of an operator. */

import { type ReactNode, useState } from "react";
import { ActionForm, CheckField, TextField } from "../../parts/action_form.js";
import { Choice } from "./grant_fields.js";
import { type KeyOwner, operationsOn, useKeyCalls } from "./key_calls.js";
import { SecretDialog, useShownOnce } from "./secret_dialog.js";

/** Days that a key may live; 0 is until it is revoked. */
const LIVES = [
  ["0", "Until it is revoked"],
  ["30", "30 days"],
  ["90", "90 days"],
  ["365", "One year"],
] as const;
const DAY_SECONDS = 86_400;

interface Given {
  owner?: KeyOwner;
  title?: string;
  /** False while the owner is not known. */
  isReady?: boolean;
  close: () => void;
  /** After the text of the key was shown. */
  onSeen?: () => void;
  /** Fields that come first. */
  children?: ReactNode;
}

export function MakeKey(given: Given) {
  const { owner = "own", title = "Make a key", isReady, close, onSeen = close, children } = given;
  const { create } = useKeyCalls(owner);
  // A key of an operator has neither a subject nor limits.
  const isOfTenant = owner !== "operators";
  const [name, setName] = useState("");
  const [subject, setSubject] = useState("");
  const [readOnly, setReadOnly] = useState(false);
  const [days, setDays] = useState<(typeof LIVES)[number][0]>("0");
  const { shown: secret, keep, show } = useShownOnce<string>();
  if (secret !== undefined) {
    return <SecretDialog title="The new key" what="the key" secret={secret} close={onSeen} />;
  }
  const run = async () => {
    const created = await create({
      name: name.trim() || undefined,
      subject: subject || undefined,
      readOnly: readOnly || undefined,
      ttlSeconds: Number(days) * DAY_SECONDS || undefined,
    });
    keep(created.key);
  };
  return (
    <ActionForm
      title={title}
      submit="Make"
      needs={[{ operation: operationsOn(owner).create }]}
      isReady={isReady}
      run={run}
      onDone={show}
      close={close}
    >
      {children}
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        note="For people: what uses the key."
        isFirst={children === undefined}
      />
      {isOfTenant ? (
        <TextField
          label="Subject"
          value={subject}
          onChange={setSubject}
          note="Whom the key speaks for. Without one it has the whole tenant."
        />
      ) : null}
      <div className="toolbar">
        <Choice label="Valid" value={days} options={LIVES} onChange={setDays} />
        {isOfTenant ? (
          <span className="note">Tokens that are made with the key end with it.</span>
        ) : null}
      </div>
      {isOfTenant ? (
        <CheckField label="It only reads" isChecked={readOnly} onChange={setReadOnly} />
      ) : (
        <p className="callout">
          The key of an operator makes and revokes keys of all tenants and of operators.
        </p>
      )}
    </ActionForm>
  );
}
