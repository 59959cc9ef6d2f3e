/** All tenants of the server in the order of their names, with what each has stored. */

import { type FormEvent, useId, useRef, useState } from "react";
import type { Tenant } from "threadkeep";
import { methodText, pythonMethodText, samplesOf } from "../../api/snippets.js";
import { useShortcut } from "../../app/keyboard.js";
import { navigate } from "../../app/location.js";
import { counted } from "../../content/json_tree.js";
import { ActionBar } from "../../parts/action.js";
import { ShowAsCode } from "../../parts/code.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Rows, useLoadMore } from "../../parts/rows.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { Size, Time } from "../../parts/units.js";
import { NewTenant } from "./new_tenant.js";
import { PAGE_TENANTS, useTenants } from "./operator_queries.js";
import { isTenantName } from "./tenant_name.js";

const ROW_PX = 60;
const SAMPLES = samplesOf(
  { method: "GET", path: "/v1/operator/tenants", query: { limit: String(PAGE_TENANTS) } },
  {
    typescript: methodText("operator.tenants", { limit: PAGE_TENANTS }),
    python: pythonMethodText("operator.tenants", [], { limit: PAGE_TENANTS }),
  },
);

export function TenantsPage() {
  return (
    <>
      <header className="page-head">
        <h1>Tenants</h1>
        <ShowAsCode samples={SAMPLES} />
      </header>
      <ActionBar
        label="Actions"
        actions={[
          {
            label: "New tenant",
            needs: [{ operation: "create_tenant_key" }],
            dialog: (close) => <NewTenant close={close} />,
          },
        ]}
      />
      <OpenByName />
      <TenantList />
    </>
  );
}

/** The server lists tenants in pages and searches in no names, so a name that is known leads to its tenant. */
function OpenByName() {
  const [name, setName] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  useShortcut("/", () => field.current?.focus());
  const tenant = name.trim();
  const open = (event: FormEvent) => {
    event.preventDefault();
    if (isTenantName(tenant)) navigate({ page: "tenant", tenant });
  };
  return (
    <search>
      <form className="filters" onSubmit={open}>
        <label htmlFor={id}>Name of a tenant</label>
        <input
          ref={field}
          id={id}
          value={name}
          spellCheck={false}
          autoComplete="off"
          onChange={({ target }) => setName(target.value)}
        />
        <button type="submit" className="button" disabled={!isTenantName(tenant)}>
          Open
        </button>
      </form>
    </search>
  );
}

function TenantList() {
  const query = useTenants();
  const { data, error, refetch, isFetchingNextPage } = query;
  const loadMore = useLoadMore(query);
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading />;
  const tenants = data.pages.flatMap((page) => page.tenants);
  if (tenants.length === 0) {
    return (
      <Empty title="The server has no tenants yet">
        The first key of a tenant makes it: “New tenant”.
      </Empty>
    );
  }
  return (
    <>
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      <Rows
        label="Tenants"
        rows={tenants}
        keyOf={({ tenant }) => tenant}
        heightPx={ROW_PX}
        render={(one) => <TenantRow shown={one} />}
        onOpen={({ tenant }) => navigate({ page: "tenant", tenant })}
        onEnd={loadMore}
      />
      {isFetchingNextPage ? <Loading what="Loading more" /> : null}
    </>
  );
}

function TenantRow({ shown: { tenant, bytes, threads, items, lastWrite } }: { shown: Tenant }) {
  return (
    <div className="item-row">
      <Link to={{ page: "tenant", tenant }} className="item-key">
        <Marked text={tenant} />
      </Link>
      <div className="thread-facts">
        <Size bytes={bytes} />
        <span>{counted(threads, "thread", "threads")}</span>
        <span>{counted(items, "item", "items")}</span>
        {lastWrite === undefined ? (
          <span>nothing written</span>
        ) : (
          <span>
            last write <Time at={lastWrite} />
          </span>
        )}
      </div>
    </div>
  );
}
