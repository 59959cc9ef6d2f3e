/** The fields that every form of a token has: for whom it speaks, and how long it lasts. */

import { useApi } from "../../api/context.js";
import { TextField } from "../../parts/action_form.js";
import { Marked } from "../../parts/marked.js";
import { LIFETIMES, type TokenDraft } from "./draft.js";
import { Choice } from "./grant_fields.js";

interface Given {
  draft: TokenDraft;
  onChange: (changes: Partial<TokenDraft>) => void;
}

/** A key of a subject makes tokens for that subject only. */
export function SubjectField({ draft, onChange, note }: Given & { note: string }) {
  const { subject } = useApi().identity;
  if (subject !== undefined) {
    return (
      <p>
        It speaks for <Marked text={subject} />, as this key does.
      </p>
    );
  }
  return (
    <TextField
      label="Subject"
      value={draft.subject}
      onChange={(text) => onChange({ subject: text })}
      note={note}
      isFirst
    />
  );
}

export function LifetimeChoice({ draft, onChange }: Given) {
  return (
    <Choice
      label="It lasts"
      value={String(draft.ttlSeconds)}
      options={LIFETIMES.map(([seconds, title]) => [String(seconds), title])}
      onChange={(seconds) => onChange({ ttlSeconds: Number(seconds) })}
    />
  );
}
