/** Writes example data into the tenant, for a look around, and deletes it again. */

import { useApi } from "../api/context.js";
import { ActionBar } from "../parts/action.js";
import { ActionForm } from "../parts/action_form.js";
import { Link } from "../parts/link.js";
import { showToast } from "../parts/toasts.js";
import {
  deleteExample,
  FILES,
  NOTES,
  needsToDelete,
  needsToWrite,
  SESSION,
  SESSION_TITLE,
  writeExample,
} from "./example.js";

export function ExampleSection() {
  return (
    <section>
      <h2>Example data</h2>
      <p className="note">
        Three items, two files and a session, as an agent would write them. There is no thread among
        them: only an agent with a saver writes checkpoints.
      </p>
      <ActionBar
        label="Actions of the example"
        actions={[
          {
            label: "Write the example",
            needs: needsToWrite(),
            dialog: (close) => <WriteExample close={close} />,
          },
          {
            label: "Delete the example",
            needs: needsToDelete(),
            dialog: (close) => <DeleteExample close={close} />,
          },
        ]}
      />
    </section>
  );
}

function WriteExample({ close }: { close: () => void }) {
  const { client } = useApi();
  return (
    <ActionForm
      title="Write the example"
      submit="Write"
      needs={needsToWrite()}
      run={() => writeExample(client)}
      onDone={() => {
        close();
        showToast({
          text: (
            <>
              Wrote <Link to={{ page: "session", ...SESSION }}>{SESSION_TITLE}</Link>,{" "}
              <Link to={{ page: "store", namespace: [...NOTES] }}>its items</Link> and{" "}
              <Link to={{ page: "files", place: "namespace", namespace: [...FILES], path: "/" }}>
                its files
              </Link>
            </>
          ),
          undo: async () => {
            await deleteExample(client);
            return "The example is deleted.";
          },
        });
      }}
      close={close}
    >
      <Names />
    </ActionForm>
  );
}

function DeleteExample({ close }: { close: () => void }) {
  const { client } = useApi();
  return (
    <ActionForm
      title="Delete the example"
      submit="Delete"
      needs={needsToDelete()}
      isDangerous
      run={() => deleteExample(client)}
      onDone={() => {
        close();
        showToast({ text: "The example is deleted." });
      }}
      close={close}
    >
      <p>What the example has written goes, and nothing else. It can be written again.</p>
      <Names />
    </ActionForm>
  );
}

function Names() {
  return (
    <ul className="plain-list">
      <li>
        items in the namespace <code>{NOTES.join("/")}</code>
      </li>
      <li>
        files in the namespace <code>{FILES.join("/")}</code>
      </li>
      <li>
        the session{" "}
        <code>
          {SESSION.kind}: {SESSION.key.join("/")}
        </code>
      </li>
    </ul>
  );
}
