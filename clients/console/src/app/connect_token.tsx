/** Makes a token for an agent, and shows once the lines that give it to a shell. The code of the page reads it from there. */

import { useState } from "react";
import type { Token } from "threadkeep";
import { useApi } from "../api/context.js";
import { SERVER_URL } from "../api/server.js";
import { mintOptions, problemOf, type TokenDraft } from "../nouns/tokens/draft.js";
import { SecretDialog, useShownOnce } from "../nouns/tokens/secret_dialog.js";
import { LifetimeChoice, SubjectField } from "../nouns/tokens/token_fields.js";
import { ActionForm } from "../parts/action_form.js";
import { exportLines } from "./connect_samples.js";

const DEFAULT_SUBJECT = "agent";
const DEFAULT_SECONDS = 28_800;

export function ConnectToken({ close }: { close: () => void }) {
  const { client, identity } = useApi();
  const [draft, setDraft] = useState<TokenDraft>({
    subject: identity.subject ?? DEFAULT_SUBJECT,
    has: "subject",
    grants: [],
    ttlSeconds: DEFAULT_SECONDS,
  });
  const change = (changes: Partial<TokenDraft>) => setDraft({ ...draft, ...changes });
  const { shown, keep, show } = useShownOnce<Token>();
  if (shown !== undefined) {
    return (
      <SecretDialog
        title="The token of the agent"
        what="the token"
        secret={exportLines(SERVER_URL, shown.token)}
        close={close}
      >
        <p>
          Run these lines in the shell that starts the agent. The code finds the token there, so it
          can be copied and committed. The id of the token is <code>{shown.tokenId}</code>.
        </p>
      </SecretDialog>
    );
  }
  return (
    <ActionForm
      title="Make a token for the agent"
      submit="Make"
      needs={[{ operation: "mint_token" }]}
      isReady={problemOf(draft) === undefined}
      run={async () => keep(await client.tokens.mint(mintOptions(draft)))}
      onDone={show}
      close={close}
    >
      <SubjectField
        draft={draft}
        onChange={change}
        note="For whom the agent works. It may do everything with what this subject has, and owns what it makes."
      />
      <div className="toolbar">
        <LifetimeChoice draft={draft} onChange={change} />
      </div>
    </ActionForm>
  );
}
