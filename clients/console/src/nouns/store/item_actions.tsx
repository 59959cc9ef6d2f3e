/** What can be done with an item. */

import type { Thing } from "../../api/capabilities.js";
import { ActionBar } from "../../parts/action.js";
import { DeleteItem, EditItem } from "./item_dialogs.js";

interface Given {
  namespace: string[];
  itemKey: string;
}

export function ItemActions({ namespace, itemKey }: Given) {
  const thing: Thing = { namespace };
  return (
    <ActionBar
      label="Actions of the item"
      actions={[
        {
          label: "Edit",
          needs: [{ operation: "put_item", thing }],
          dialog: (close) => <EditItem namespace={namespace} itemKey={itemKey} close={close} />,
        },
        {
          label: "Delete",
          needs: [{ operation: "delete_item", thing }],
          dialog: (close) => <DeleteItem namespace={namespace} itemKey={itemKey} close={close} />,
        },
      ]}
    />
  );
}
