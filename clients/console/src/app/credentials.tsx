/** Shows the chosen credential, switches to other credentials of the tab, and signs out. */

import { KeyRound } from "lucide-react";
import { useState } from "react";
import type { Identity } from "threadkeep";
import { useApi } from "../api/context.js";
import { isOperator } from "../api/grants.js";
import { forgetQueries } from "../api/queries.js";
import {
  addCredential,
  chooseCredential,
  chosenCredential,
  dropCredential,
  useSession,
} from "../api/session.js";
import { Dialog } from "../parts/dialog.js";
import { SecretForm } from "./login.js";

export function CredentialMenu() {
  const { identity } = useApi();
  const [isOpen, setIsOpen] = useState(false);
  const isKeyless = identity.credential === "local";
  return (
    <>
      <button type="button" className="button credential" onClick={() => setIsOpen(true)}>
        <KeyRound aria-hidden />
        <span className="credential-name">{isKeyless ? "Local, no key" : ownerOf(identity)}</span>
      </button>
      {isOpen ? (
        <Dialog title="Keys of this tab" onClose={() => setIsOpen(false)}>
          <p>
            {isOperator(identity) ? (
              "Operator of all tenants"
            ) : (
              <>
                Tenant <code>{identity.tenant}</code>
              </>
            )}
            , credential <code>{identity.credential}</code>
            {identity.subject === undefined ? "" : `, subject ${identity.subject}`}
          </p>
          {isKeyless ? (
            <p className="note">
              This server has no keys. <code>threadkeep keys create --tenant NAME</code> makes one.
            </p>
          ) : null}
          <Credentials />
          <h3>Use another one</h3>
          <SecretForm onSecret={(secret, found) => addCredential(secret, nameOf(found))} />
        </Dialog>
      ) : null}
    </>
  );
}

function Credentials() {
  const session = useSession();
  const chosen = chosenCredential(session);
  const signOut = () => {
    if (!chosen) return;
    forgetQueries(chosen.id);
    dropCredential(chosen.id);
  };
  if (!chosen) return null;
  return (
    <>
      <ul className="credentials">
        {session.credentials.map(({ id, name }) => (
          <li key={id}>
            <button
              type="button"
              className="button"
              aria-pressed={id === chosen.id}
              onClick={() => chooseCredential(id)}
            >
              {name || "not checked yet"}
            </button>
          </li>
        ))}
      </ul>
      <button type="button" className="button" onClick={signOut}>
        Sign out
      </button>
    </>
  );
}

type Named = Pick<Identity, "tenant" | "credential"> & Partial<Pick<Identity, "operator">>;

/** How a credential is called in this tab. */
export function nameOf(identity: Named): string {
  return `${ownerOf(identity)}, ${identity.credential}`;
}

/** Operators have no tenant; the server answers a name that no tenant may have. */
function ownerOf({ tenant, operator }: Named): string {
  return operator === true ? "Operator" : tenant;
}
