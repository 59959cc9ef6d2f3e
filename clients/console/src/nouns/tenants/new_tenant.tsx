/** Makes a tenant: its first key makes it. */

import { useState } from "react";
import { navigate } from "../../app/location.js";
import { TextField } from "../../parts/action_form.js";
import { MakeKey } from "../tokens/make_key.js";
import { useTenants } from "./operator_queries.js";
import { isTenantName } from "./tenant_name.js";

interface Given {
  /** Absent: it is asked for. */
  name?: string;
  close: () => void;
}

export function NewTenant({ name = "", close }: Given) {
  const [tenant, setTenant] = useState(name);
  const { data } = useTenants();
  const isThere = data?.pages.some((page) => page.tenants.some((one) => one.tenant === tenant));
  const open = () => {
    close();
    navigate({ page: "tenant", tenant });
  };
  return (
    <MakeKey
      title="New tenant"
      owner={{ tenant }}
      isReady={isTenantName(tenant)}
      close={close}
      onSeen={open}
    >
      <p className="note">Its first key makes the tenant.</p>
      <TextField
        label="Tenant"
        value={tenant}
        onChange={setTenant}
        note={
          isThere
            ? "There is a tenant with this name. It gets another key."
            : "1 to 63 characters of a-z, 0-9, _ and -"
        }
        isFirst
      />
    </MakeKey>
  );
}
