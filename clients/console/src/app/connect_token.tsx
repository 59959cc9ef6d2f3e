/** Makes a token for an agent, and shows once the lines that give it to a shell. The code of the page reads it from there. */

import { useRef, useState } from "react";
import type { Token } from "threadkeep";
import { useApi } from "../api/context.js";
import { SERVER_URL } from "../api/server.js";
import { LIFETIMES, mintOptions, problemOf, type TokenDraft } from "../nouns/tokens/draft.js";
import { Choice } from "../nouns/tokens/grant_fields.js";
import { SecretDialog } from "../nouns/tokens/secret_dialog.js";
import { ActionForm, TextField } from "../parts/action_form.js";
import { Marked } from "../parts/marked.js";
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
  // The cache of answers never has it.
  const made = useRef<Token>(undefined);
  const [shown, setShown] = useState<Token>();
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
      run={async () => {
        made.current = await client.tokens.mint(mintOptions(draft));
      }}
      onDone={() => {
        setShown(made.current);
        made.current = undefined;
      }}
      close={close}
    >
      {identity.subject === undefined ? (
        <TextField
          label="Subject"
          value={draft.subject}
          onChange={(subject) => setDraft({ ...draft, subject })}
          note="For whom the agent works. It may do everything with what this subject has, and owns what it makes."
          isFirst
        />
      ) : (
        <p>
          It speaks for <Marked text={identity.subject} />, as this key does.
        </p>
      )}
      <div className="toolbar">
        <Choice
          label="It lasts"
          value={String(draft.ttlSeconds)}
          options={LIFETIMES.map(([seconds, title]) => [String(seconds), title])}
          onChange={(seconds) => setDraft({ ...draft, ttlSeconds: Number(seconds) })}
        />
      </div>
    </ActionForm>
  );
}
