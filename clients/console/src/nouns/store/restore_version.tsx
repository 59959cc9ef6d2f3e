/** Puts the value of an earlier version of an item again. */

import { useQuery } from "@tanstack/react-query";
import { useApi } from "../../api/context.js";
import { jsonText } from "../../content/json_tree.js";
import { LineDiffView } from "../../content/line_diff_view.js";
import { ActionForm } from "../../parts/action_form.js";
import { Failure, Loading } from "../../parts/states.js";
import { showToast } from "../../parts/toasts.js";

interface Given {
  namespace: string[];
  itemKey: string;
  version: number;
  close: () => void;
}

export function RestoreVersion({ namespace, itemKey, version, close }: Given) {
  const { client } = useApi();
  const { data, error, refetch } = useQuery({
    queryKey: ["restore version", namespace, itemKey, version],
    queryFn: async ({ signal }) => {
      const [present, earlier] = await Promise.all([
        client.store.get(namespace, itemKey, { refreshTtl: false, signal }),
        client.store.getVersion(namespace, itemKey, version, { signal }),
      ]);
      return { present, earlier };
    },
    gcTime: 0,
    structuralSharing: false,
  });
  const present = data?.present;
  return (
    <ActionForm
      title={`Restore version ${version}`}
      submit="Restore"
      needs={[{ operation: "restore_item_version", thing: { namespace } }]}
      isReady={present !== undefined && data?.earlier !== undefined}
      run={() => client.store.restore(namespace, itemKey, version, { ifVersion: present?.version })}
      onDone={(restored) => {
        close();
        showToast({
          text: `Version ${version} is the present one again.`,
          undo:
            present === undefined
              ? undefined
              : async () => {
                  await client.store.restore(namespace, itemKey, present.version, {
                    ifVersion: restored,
                  });
                  return "It is as it was before the restore.";
                },
        });
      }}
      close={close}
    >
      <p>Its value becomes the present one. What is there now is kept as an earlier version.</p>
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      {!data && !error ? <Loading /> : null}
      {data?.present && data.earlier ? (
        <LineDiffView
          before={jsonText(data.present.value)}
          after={jsonText(data.earlier.value)}
          removed="what is there now"
          added={`version ${version}`}
        />
      ) : data ? (
        <p>It is not kept any more.</p>
      ) : null}
    </ActionForm>
  );
}
