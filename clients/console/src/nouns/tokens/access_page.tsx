/** Who may come in: keys, tokens, and the forms that make them; and the subjects that they speak for. */

import { methodText, pythonMethodText, samplesOf } from "../../api/snippets.js";
import { replaceRoute } from "../../app/location.js";
import { ACCESS_VIEWS, type AccessRoute } from "../../app/route.js";
import { ActionBar } from "../../parts/action.js";
import { Allowed } from "../../parts/allowed.js";
import { ShowAsCode } from "../../parts/code.js";
import { Tabs } from "../../parts/tabs.js";
import { EraseSubject } from "./erase_subject.js";
import { KeysList } from "./keys_list.js";
import { MakeKey } from "./make_key.js";
import { MakeToken } from "./make_token.js";
import { SubjectsList } from "./subjects_list.js";
import { TokensList } from "./tokens_list.js";

const TABS = [
  { id: "keys", title: "Keys" },
  { id: "tokens", title: "Tokens" },
  { id: "subjects", title: "Subjects" },
] as const;

const LISTS = {
  keys: { operation: "list_keys", List: KeysList },
  tokens: { operation: "list_tokens", List: TokensList },
  subjects: { operation: "list_subjects", List: SubjectsList },
} as const;

export default function AccessPage({ route }: { route: AccessRoute }) {
  const { show = "keys" } = route;
  const { operation, List } = LISTS[show];
  return (
    <>
      <header className="page-head">
        <h1>Access</h1>
        <ShowAsCode samples={samples(show)} />
      </header>
      <ActionBar
        label="Actions"
        actions={[
          {
            label: "Make a key",
            needs: [{ operation: "create_key" }],
            dialog: (close) => <MakeKey close={close} />,
          },
          {
            label: "Make a token",
            needs: [{ operation: "mint_token" }],
            dialog: (close) => <MakeToken close={close} />,
          },
          {
            label: "Erase a subject",
            needs: [{ operation: "delete_subject" }],
            dialog: (close) => <EraseSubject close={close} />,
          },
        ]}
      />
      <Tabs
        label="What is listed"
        tabs={TABS}
        chosen={show}
        onChoose={(id) =>
          replaceRoute({ page: "access", show: ACCESS_VIEWS.find((one) => one === id) })
        }
      >
        <Allowed needs={[{ operation }]}>
          <List />
        </Allowed>
      </Tabs>
    </>
  );
}

function samples(show: keyof typeof LISTS) {
  const limit = 100;
  return samplesOf(
    { method: "GET", path: `/v1/${show}`, query: { limit: String(limit) } },
    {
      typescript: methodText(`${show}.list`, { limit }),
      python: pythonMethodText(`${show}.list`, [], { limit }),
    },
  );
}
