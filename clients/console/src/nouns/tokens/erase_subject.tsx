/** Erases a subject, and shows the receipt of what went. */

import { useState } from "react";
import type { ErasureReceipt } from "threadkeep";
import { useApi } from "../../api/context.js";
import { ActionForm, isTyped, TextField, TypedName } from "../../parts/action_form.js";
import { DownloadButton } from "../../parts/copy.js";
import { Dialog } from "../../parts/dialog.js";
import { Marked } from "../../parts/marked.js";

interface Given {
  /** Of the row that it was opened from. */
  named?: string;
  close: () => void;
}

export function EraseSubject({ named = "", close }: Given) {
  const { client } = useApi();
  const [subject, setSubject] = useState(named);
  const [typed, setTyped] = useState("");
  const [receipt, setReceipt] = useState<ErasureReceipt>();
  if (receipt) return <Receipt subject={subject} receipt={receipt} close={close} />;
  return (
    <ActionForm
      title="Erase a subject"
      submit="Erase"
      needs={[{ operation: "delete_subject" }]}
      isReady={isTyped(typed, subject)}
      isDangerous
      run={() => client.subjects.delete(subject)}
      onDone={setReceipt}
      close={close}
    >
      <TextField label="Subject" value={subject} onChange={setSubject} isFirst />
      <p className="callout">
        Its keys end. Its threads, sessions and snapshots go with everything in them, and so do the
        items and files below its label. It cannot be undone. Tokens of the subject stay valid:
        revoke them first.
      </p>
      {subject === "" ? null : <TypedName name={subject} value={typed} onChange={setTyped} />}
    </ActionForm>
  );
}

interface ReceiptGiven {
  subject: string;
  receipt: ErasureReceipt;
  close: () => void;
}

function Receipt({ subject, receipt, close }: ReceiptGiven) {
  return (
    <Dialog title="The receipt" onClose={close}>
      <p>
        <Marked text={subject} /> was erased. What went:
      </p>
      <dl className="limits">
        {Object.entries(receipt).map(([name, count]) => (
          <div key={name}>
            <dt>{titleOf(name)}</dt>
            <dd>{(count ?? 0).toLocaleString("en")}</dd>
          </div>
        ))}
      </dl>
      <div className="toolbar">
        <DownloadButton
          bytes={() => `${JSON.stringify({ subject, ...receipt }, null, 2)}\n`}
          name={`erased ${subject}.json`}
        />
        <button type="button" className="button" onClick={close}>
          Done
        </button>
      </div>
    </Dialog>
  );
}

/** `retentionPolicies` as two words. */
function titleOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
