/** Replaces the signing secrets of a tenant, which ends all that was signed with them. */

import { useState } from "react";
import { useApi } from "../../api/context.js";
import { counted } from "../../content/json_tree.js";
import { ActionForm, isTyped, TypedName } from "../../parts/action_form.js";
import { showToast } from "../../parts/toasts.js";

export function RotateSecrets({ tenant, close }: { tenant: string; close: () => void }) {
  const { client } = useApi();
  const [typed, setTyped] = useState("");
  return (
    <ActionForm
      title="Replace the signing secrets"
      submit="Replace"
      needs={[{ operation: "rotate_tenant_secrets" }]}
      isReady={isTyped(typed, tenant)}
      isDangerous
      run={() => client.operator.rotateSecrets(tenant)}
      onDone={(removed) => {
        close();
        const secrets = counted(removed, "signing secret", "signing secrets");
        showToast({ text: `Replaced ${secrets} of ${tenant}. All its tokens have ended.` });
      }}
      close={close}
    >
      <p className="callout">
        All tokens of the tenant end, and all signed addresses of its files: on this server at once,
        on others within two seconds. Its keys stay, and make new tokens. It cannot be undone.
      </p>
      <p className="note">
        It is for emergencies. Secrets are replaced every 30 days by themselves, and no token
        notices.
      </p>
      <TypedName name={tenant} value={typed} onChange={setTyped} />
    </ActionForm>
  );
}
