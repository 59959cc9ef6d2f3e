/** Lets the views below load the places of a checkpoint that its answer has cut. */

import { type ReactNode, useMemo } from "react";
import { useApi } from "../../api/context.js";
import { type CutSource, CutSourceContext } from "../../content/cut_source.js";

interface Given {
  threadId: string;
  ns: string;
  checkpointId: string;
  children: ReactNode;
}

export function CutPlaces({ threadId, ns, checkpointId, children }: Given) {
  const { client } = useApi();
  const source = useMemo((): CutSource => {
    const place = { checkpointNs: ns, checkpointId };
    return {
      key: [threadId, ns, checkpointId],
      read: async (pointer, window, signal) => {
        const options = { ...place, ...window, pointer, integers: "bigint" as const, signal };
        return (await client.checkpoints.values(threadId, options))?.channels[0];
      },
      readText: async (pointer) => {
        const text = await client.checkpoints.valueText(threadId, pointer, place);
        if (text === undefined) throw new Error(`the checkpoint has no place ${pointer}`);
        return text;
      },
    };
  }, [client, threadId, ns, checkpointId]);
  return <CutSourceContext value={source}>{children}</CutSourceContext>;
}
