/** Takes a key or a token. It is sent to the server only, and kept in this tab only. */

import { type FormEvent, useId, useState } from "react";
import { type Identity, UnauthorizedError } from "threadkeep";
import { makeClient } from "../api/server.js";
import { chosenCredential, dropCredential, readSession } from "../api/session.js";
import { Dialog } from "../parts/dialog.js";
import { titleOf } from "../parts/states.js";

type OnSecret = (secret: string, identity: Identity) => void;

interface Given {
  /** Why what was presented before was not taken. */
  refused: Error | undefined;
  onSecret: OnSecret;
}

export function LoginPage({ refused, onSecret }: Given) {
  return (
    <main className="alone login">
      <h1>threadkeep</h1>
      <p>The server asks for an API key, a token or a JWT.</p>
      {refused ? <RefusedNote error={refused} /> : null}
      <SecretForm onSecret={onSecret} />
      <p className="note">
        It stays in this tab and ends with it. <code>threadkeep keys create --tenant NAME</code>{" "}
        makes a key.
      </p>
    </main>
  );
}

function RefusedNote({ error }: { error: Error }) {
  const forget = () => {
    const credential = chosenCredential(readSession());
    if (credential) dropCredential(credential.id);
  };
  return (
    <p role="alert" className="failure-line">
      {reasonOf(error)}{" "}
      <button type="button" className="link-button" onClick={forget}>
        Forget it
      </button>
    </p>
  );
}

export function ExpirySheet({ error, onSecret }: { error: Error; onSecret: OnSecret }) {
  return (
    <Dialog title="The server asks for a new key or token">
      <p role="alert">{reasonOf(error)}. The page below stays as it is.</p>
      <SecretForm onSecret={onSecret} />
    </Dialog>
  );
}

export function SecretForm({ onSecret }: { onSecret: OnSecret }) {
  const [secret, setSecret] = useState("");
  const [failed, setFailed] = useState<unknown>();
  const [isBusy, setIsBusy] = useState(false);
  const field = useId();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setIsBusy(true);
    try {
      const text = secret.trim();
      onSecret(text, await makeClient(text).whoami());
    } catch (error) {
      setFailed(error);
    } finally {
      setIsBusy(false);
    }
  };
  return (
    <form className="secret-form" onSubmit={(event) => void submit(event)}>
      <label htmlFor={field}>Key or token</label>
      <input
        id={field}
        type="password"
        autoComplete="off"
        spellCheck={false}
        value={secret}
        onChange={(event) => setSecret(event.target.value)}
      />
      <button
        type="submit"
        className="button button-main"
        disabled={isBusy || secret.trim() === ""}
      >
        Continue
      </button>
      <p role="alert" className="failure-line">
        {failed === undefined ? "" : reasonOf(failed)}
      </p>
    </form>
  );
}

function reasonOf(error: unknown): string {
  if (error instanceof UnauthorizedError && error.code === "unauthorized") {
    return "The server does not know this key or token";
  }
  return titleOf(error);
}
