/** Revokes a key or a token, after a person has read what ends. */

import type { Key, LiveToken } from "threadkeep";
import { useApi } from "../../api/context.js";
import { ActionForm } from "../../parts/action_form.js";
import { Marked } from "../../parts/marked.js";
import { showToast } from "../../parts/toasts.js";
import { type KeyOwner, operationsOn, useKeyCalls } from "./key_calls.js";

interface RevokeKeyGiven {
  revoked: Key;
  owner: KeyOwner;
  close: () => void;
}

export function RevokeKey({ revoked, owner, close }: RevokeKeyGiven) {
  const { identity } = useApi();
  const { revoke } = useKeyCalls(owner);
  const { keyId, name = keyId } = revoked;
  return (
    <ActionForm
      title="Revoke the key"
      submit="Revoke"
      needs={[{ operation: operationsOn(owner).revoke }]}
      isDangerous
      run={() => revoke(keyId)}
      onDone={() => {
        close();
        showToast({
          text: (
            <>
              Revoked <Marked text={name} />
            </>
          ),
        });
      }}
      close={close}
    >
      <p>
        <Marked text={name} />, <code>{keyId}</code>
      </p>
      <p className="callout">
        {owner === "operators"
          ? "All programs with this key are refused at once. The keys that it made stay."
          : "All programs with this key are refused at once. All tokens that were made with it end, too."}{" "}
        It cannot be undone.
      </p>
      {keyId === identity.credential ? (
        <p className="note">
          It is the key of this page. The server refuses that a key revokes itself: use another one.
        </p>
      ) : null}
    </ActionForm>
  );
}

export function RevokeToken({ revoked, close }: { revoked: LiveToken; close: () => void }) {
  const { client } = useApi();
  const { tokenId } = revoked;
  return (
    <ActionForm
      title="Revoke the token"
      submit="Revoke"
      needs={[{ operation: "revoke_token", thing: { tenant: true } }]}
      isDangerous
      run={() => client.tokens.revoke({ tokenId })}
      onDone={() => {
        close();
        showToast({ text: `Revoked ${tokenId}` });
      }}
      close={close}
    >
      <p>
        <code>{tokenId}</code>
      </p>
      <p className="callout">
        All programs with this token are refused: on this server at once, on others within two
        seconds. All tokens that were narrowed from it end, too. It cannot be undone.
      </p>
    </ActionForm>
  );
}
