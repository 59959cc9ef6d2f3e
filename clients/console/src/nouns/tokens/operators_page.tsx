/** The keys of operators, each of which administers all tenants. */

import { methodText, pythonMethodText, samplesOf } from "../../api/snippets.js";
import { ActionBar } from "../../parts/action.js";
import { ShowAsCode } from "../../parts/code.js";
import { KeysList } from "./keys_list.js";
import { MakeKey } from "./make_key.js";

const LIMIT = 100;
const SAMPLES = samplesOf(
  { method: "GET", path: "/v1/operator/keys", query: { operators: "true", limit: String(LIMIT) } },
  {
    typescript: methodText("operator.listKeys", { limit: LIMIT }),
    python: pythonMethodText("operator.list_keys", [], { limit: LIMIT }),
  },
);

export function OperatorsPage() {
  return (
    <>
      <header className="page-head">
        <h1>Keys of operators</h1>
        <ShowAsCode samples={SAMPLES} />
      </header>
      <ActionBar
        label="Actions"
        actions={[
          {
            label: "Make a key",
            needs: [{ operation: "create_tenant_key" }],
            dialog: (close) => <MakeKey owner="operators" close={close} />,
          },
        ]}
      />
      <KeysList owner="operators" />
    </>
  );
}
