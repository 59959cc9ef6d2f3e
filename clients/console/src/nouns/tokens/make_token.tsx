/** Builds a token: for whom it speaks, what it may do and how long, with the JSON, a sentence and the code before it is made. */

import { useState } from "react";
import type { Token } from "threadkeep";
import { useApi } from "../../api/context.js";
import { addCredential } from "../../api/session.js";
import { nameOf } from "../../app/credentials.js";
import { navigate } from "../../app/location.js";
import { escapeHidden } from "../../content/hidden_characters.js";
import { ActionForm } from "../../parts/action_form.js";
import { CodeBlock, CodeTabs } from "../../parts/code.js";
import { Marked } from "../../parts/marked.js";
import {
  mintBody,
  mintOptions,
  NEW_GRANT,
  problemOf,
  sentenceOf,
  type TokenDraft,
} from "./draft.js";
import { Choice, GrantFields } from "./grant_fields.js";
import { mintSamples } from "./samples.js";
import { SecretDialog, useShownOnce } from "./secret_dialog.js";
import { LifetimeChoice, SubjectField } from "./token_fields.js";

const HAS = [
  ["grants", "what the grants name"],
  ["subject", "everything that the subject has"],
  ["reading", "the same, but only to read"],
] as const;

export function MakeToken({ close }: { close: () => void }) {
  const { client, identity } = useApi();
  const [draft, setDraft] = useState<TokenDraft>({
    subject: identity.subject ?? "",
    has: "grants",
    grants: [NEW_GRANT],
    ttlSeconds: 900,
  });
  const { shown, keep, show } = useShownOnce<Token>();
  const problem = problemOf(draft);
  if (shown !== undefined) return <NewToken made={shown} draft={draft} close={close} />;
  const run = async () => keep(await client.tokens.mint(mintOptions(draft)));
  return (
    <ActionForm
      title="Make a token"
      submit="Make"
      needs={[{ operation: "mint_token" }]}
      isReady={problem === undefined}
      run={run}
      onDone={show}
      close={close}
    >
      <DraftFields draft={draft} onChange={(changes) => setDraft({ ...draft, ...changes })} />
      {problem === undefined ? (
        <Preview draft={draft} />
      ) : (
        <p role="status" className="note">
          {problem}
        </p>
      )}
    </ActionForm>
  );
}

interface FieldsGiven {
  draft: TokenDraft;
  onChange: (changes: Partial<TokenDraft>) => void;
}

function DraftFields({ draft, onChange }: FieldsGiven) {
  return (
    <>
      <SubjectField
        draft={draft}
        onChange={onChange}
        note="For whom it speaks. It may have none."
      />
      <div className="toolbar">
        <Choice
          label="It may do"
          value={draft.has}
          options={HAS}
          onChange={(has) => onChange({ has })}
        />
        <LifetimeChoice draft={draft} onChange={onChange} />
      </div>
      {draft.has === "grants" ? (
        <GrantFields grants={draft.grants} onChange={(grants) => onChange({ grants })} />
      ) : null}
    </>
  );
}

function Preview({ draft }: { draft: TokenDraft }) {
  return (
    <>
      <p role="status" className="callout">
        <Marked text={sentenceOf(draft)} />
      </p>
      <details>
        <summary>JSON of the request</summary>
        <CodeBlock text={escapeHidden(JSON.stringify(mintBody(draft), null, 2))} what="the JSON" />
      </details>
      <details>
        <summary>Show as code</summary>
        <CodeTabs samples={mintSamples(draft)} label="Language" />
      </details>
    </>
  );
}

function NewToken({ made, draft, close }: { made: Token; draft: TokenDraft; close: () => void }) {
  const { tenant } = useApi().identity;
  const tryIt = () => {
    close();
    navigate({ page: "home" });
    addCredential(made.token, nameOf({ tenant, credential: made.tokenId }));
  };
  return (
    <SecretDialog title="The new token" what="the token" secret={made.token} close={close}>
      <p>
        <Marked text={sentenceOf(draft)} /> Its id is <code>{made.tokenId}</code>.
      </p>
      <button type="button" className="button button-main" onClick={tryIt}>
        See as this token
      </button>
    </SecretDialog>
  );
}
