/** Finds out who is there, then shows the console or asks for a key. */

import { QueryClientProvider, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useMemo } from "react";
import { type Identity, UnauthorizedError } from "threadkeep";
import { ApiContext } from "../api/context.js";
import { noteRefusal, useRefusal } from "../api/expiry.js";
import { queriesOf } from "../api/queries.js";
import { makeClient } from "../api/server.js";
import {
  addCredential,
  type Credential,
  chosenCredential,
  nameCredential,
  replaceSecret,
  useSession,
} from "../api/session.js";
import { forgetMark } from "../nouns/checkpoints/marked_step.js";
import { Failure, Loading } from "../parts/states.js";
import { clearToasts } from "../parts/toasts.js";
import { nameOf } from "./credentials.js";
import { FeedsContext, useFeeds } from "./followed.js";
import { ExpirySheet, LoginPage } from "./login.js";
import { Shell } from "./shell.js";

export function App() {
  const credential = chosenCredential(useSession());
  const slot = credential?.id ?? "";
  return (
    <QueryClientProvider key={slot} client={queriesOf(slot, noteRefusal)}>
      <Gate credential={credential} />
    </QueryClientProvider>
  );
}

function Gate({ credential }: { credential: Credential | undefined }) {
  const client = useMemo(() => makeClient(credential?.secret), [credential?.secret]);
  const { data, error, refetch, isFetching } = useQuery({
    queryKey: ["whoami"],
    queryFn: () => client.whoami(),
    staleTime: Number.POSITIVE_INFINITY,
  });
  // Another credential has another one of these.
  useEffect(
    () => () => {
      clearToasts();
      forgetMark();
    },
    [],
  );
  const api = useMemo(() => (data ? { client, identity: data } : undefined), [client, data]);
  const feeds = useFeeds(api, useQueryClient());
  useEffect(() => {
    if (data && credential) nameCredential(credential.id, nameOf(data));
  }, [data, credential]);
  if (api) {
    return (
      <ApiContext value={api}>
        <FeedsContext value={feeds}>
          <Shell />
          <Refusal credential={credential} identity={api.identity} />
        </FeedsContext>
      </ApiContext>
    );
  }
  if (error instanceof UnauthorizedError) {
    const isChecked = credential !== undefined && !isFetching;
    return <LoginPage refused={isChecked ? error : undefined} onSecret={logIn} />;
  }
  return (
    <Alone>{error ? <Failure error={error} retry={() => void refetch()} /> : <Loading />}</Alone>
  );
}

function logIn(secret: string, identity: Identity): void {
  noteRefusal(undefined);
  addCredential(secret, nameOf(identity));
}

/** Over the page, which stays as it is. */
function Refusal(given: { credential: Credential | undefined; identity: Identity }) {
  const { credential, identity } = given;
  const refused = useRefusal();
  const queries = useQueryClient();
  if (!refused) return null;
  const goOn = (secret: string, found: Identity) => {
    noteRefusal(undefined);
    if (!credential || found.tenant !== identity.tenant) {
      addCredential(secret, nameOf(found));
      return;
    }
    replaceSecret(credential.id, secret);
    // After the client with the new secret has come to the views.
    setTimeout(() => void queries.invalidateQueries(), 0);
  };
  return <ExpirySheet error={refused} onSecret={goOn} />;
}

function Alone({ children }: { children: ReactNode }) {
  return <main className="alone">{children}</main>;
}
