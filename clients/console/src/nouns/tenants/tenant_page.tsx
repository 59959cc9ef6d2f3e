/** One tenant as an operator sees it: usage, quota and keys, and nothing of what it has stored. */

import { useState } from "react";
import { NotFoundError, type Usage } from "threadkeep";
import { methodText, pythonMethodText, samplesOfAll } from "../../api/snippets.js";
import { ActionBar, ActionButton } from "../../parts/action.js";
import { ShowAsCode } from "../../parts/code.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Empty, FailedPage, Failure, Loading } from "../../parts/states.js";
import { KeysList } from "../tokens/keys_list.js";
import { MakeKey } from "../tokens/make_key.js";
import { NewTenant } from "./new_tenant.js";
import { useTenantUsage } from "./operator_queries.js";
import { SetQuota } from "./quota_dialog.js";
import { RotateSecrets } from "./rotate_secrets.js";
import { isTenantName } from "./tenant_name.js";
import { UsageView } from "./usage_view.js";

export function TenantPage({ tenant }: { tenant: string }) {
  const [isMaking, setIsMaking] = useState(false);
  return (
    <>
      <TenantView tenant={tenant} onMake={() => setIsMaking(true)} />
      {/* Here it stays open when the tenant is there, until the text of its key was seen. */}
      {isMaking ? <NewTenant name={tenant} close={() => setIsMaking(false)} /> : null}
    </>
  );
}

function TenantView({ tenant, onMake }: { tenant: string; onMake: () => void }) {
  const isLegal = isTenantName(tenant);
  const { data, error, refetch } = useTenantUsage(tenant, isLegal);
  const again = () => void refetch();
  if (!isLegal || error instanceof NotFoundError) {
    return <NoTenant tenant={tenant} onMake={isLegal ? onMake : undefined} />;
  }
  if (error && !data) return <FailedPage name={tenant} error={error} retry={again} />;
  if (!data) return <Loading />;
  return (
    <>
      <header className="page-head">
        <h1>
          <Marked text={tenant} />
        </h1>
        <ShowAsCode samples={samples(tenant)} />
      </header>
      <TenantActions tenant={tenant} usage={data} />
      {error ? <Failure error={error} retry={again} /> : null}
      <h2>Usage and quota</h2>
      <UsageView usage={data} />
      <h2>Keys</h2>
      <KeysList owner={{ tenant }} />
    </>
  );
}

function TenantActions({ tenant, usage }: { tenant: string; usage: Usage }) {
  return (
    <ActionBar
      label="Actions of the tenant"
      actions={[
        {
          label: "Set the quota",
          needs: [{ operation: "put_tenant_quota" }],
          dialog: (close) => <SetQuota tenant={tenant} usage={usage} close={close} />,
        },
        {
          label: "Make a key",
          needs: [{ operation: "create_tenant_key" }],
          dialog: (close) => <MakeKey owner={{ tenant }} close={close} />,
        },
        {
          label: "Replace the signing secrets",
          needs: [{ operation: "rotate_tenant_secrets" }],
          dialog: (close) => <RotateSecrets tenant={tenant} close={close} />,
        },
      ]}
    />
  );
}

/** `onMake` is absent where no tenant can have the name. */
function NoTenant({ tenant, onMake }: { tenant: string; onMake: (() => void) | undefined }) {
  return (
    <Empty title={onMake ? "There is no such tenant" : "No tenant has such a name"} isPage>
      <p>
        <Marked text={tenant} />
      </p>
      {onMake ? (
        <ActionButton
          label="New tenant"
          needs={[{ operation: "create_tenant_key" }]}
          onClick={onMake}
        />
      ) : null}
      <p>
        <Link to={{ page: "tenants" }}>All tenants</Link>
      </p>
    </Empty>
  );
}

function samples(tenant: string) {
  const limit = 100;
  const path = "/v1/operator";
  return samplesOfAll([
    {
      call: { method: "GET", path: `${path}/quotas`, query: { tenant } },
      typescript: methodText("operator.quota", tenant),
      python: pythonMethodText("operator.quota", [tenant], {}),
    },
    {
      call: { method: "GET", path: `${path}/keys`, query: { tenant, limit: String(limit) } },
      typescript: methodText("operator.listKeys", { tenant, limit }),
      python: pythonMethodText("operator.list_keys", [tenant], { limit }),
    },
  ]);
}
