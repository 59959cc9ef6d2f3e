/** Sets the quota of a tenant. */

import { useState } from "react";
import type { Quota, Usage } from "threadkeep";
import { useApi } from "../../api/context.js";
import { ActionForm, TextField } from "../../parts/action_form.js";
import { showToast } from "../../parts/toasts.js";
import {
  draftOf,
  isSameQuota,
  LIMIT_FIELDS,
  noteOf,
  type QuotaDraft,
  quotaIn,
} from "./quota_draft.js";

interface Given {
  tenant: string;
  usage: Usage;
  close: () => void;
}

/** Somebody else has set another quota since the form was opened. */
class QuotaChanged extends Error {
  constructor(readonly quota: Quota) {
    super("the quota was changed meanwhile");
  }
}

export function SetQuota({ tenant, usage, close }: Given) {
  const { client } = useApi();
  const [seen, setSeen] = useState(usage.quota);
  const [draft, setDraft] = useState(() => draftOf(usage.quota));
  const quota = quotaIn(draft);
  const run = async () => {
    if (quota === undefined) return;
    const { quota: current } = await client.operator.quota(tenant);
    if (!isSameQuota(current, seen)) {
      setSeen(current);
      throw new QuotaChanged(current);
    }
    await client.operator.setQuota(tenant, quota);
  };
  const undo = async () => {
    await client.operator.setQuota(tenant, seen);
    return `The quota of ${tenant} is as it was`;
  };
  return (
    <ActionForm
      title="Set the quota"
      submit="Set"
      needs={[{ operation: "put_tenant_quota" }, { operation: "get_tenant_quota" }]}
      isReady={quota !== undefined}
      run={run}
      onDone={() => {
        close();
        showToast({ text: `Set the quota of ${tenant}`, undo });
      }}
      onError={(error) =>
        error instanceof QuotaChanged ? <ChangedNote quota={error.quota} /> : undefined
      }
      close={close}
    >
      <p className="note">
        An empty field is no limit of the tenant's own. Reading, deleting and pruning always work.
        Other servers follow within ten seconds.
      </p>
      <LimitFields draft={draft} usage={usage} onChange={setDraft} />
    </ActionForm>
  );
}

interface FieldsGiven {
  draft: QuotaDraft;
  usage: Usage;
  onChange: (draft: QuotaDraft) => void;
}

function LimitFields({ draft, usage, onChange }: FieldsGiven) {
  return LIMIT_FIELDS.map((field, at) => (
    <TextField
      key={field.limit}
      label={field.label}
      value={draft[field.limit]}
      onChange={(text) => onChange({ ...draft, [field.limit]: text })}
      note={noteOf(field, draft[field.limit], usage)}
      isFirst={at === 0}
    />
  ));
}

function ChangedNote({ quota }: { quota: Quota }) {
  const limits = LIMIT_FIELDS.flatMap(({ limit, label }) => {
    const value = quota[limit];
    return value === undefined ? [] : `${label}: ${value.toLocaleString("en")}`;
  });
  return (
    <p role="alert" className="callout">
      Somebody else has changed the quota meanwhile. It is now{" "}
      {limits.length === 0 ? "without any limit" : limits.join("; ")}. Set replaces it.
    </p>
  );
}
