/** Chooses the two checkpoints of a difference by their ids, also of two threads. An id that is left out is the newest one. */

import { type FormEvent, useState } from "react";
import type { Client } from "threadkeep";
import { useApi } from "../../api/context.js";
import { navigate } from "../../app/location.js";
import type { ThreadRoute } from "../../app/route.js";
import { TextField } from "../../parts/action_form.js";
import { Failure } from "../../parts/states.js";
import { diffRoute, type Spot } from "./pair.js";

interface Given {
  route: ThreadRoute;
  isOpen: boolean;
}

export function ChoosePair({ route, isOpen }: Given) {
  const { client } = useApi();
  const { threadId, ns = "", fromThread = threadId, fromNs = ns } = route;
  const [before, setBefore] = useState<Spot>({
    ...{ threadId: fromThread, ns: fromNs, checkpointId: route.from ?? "" },
  });
  const [after, setAfter] = useState<Spot>({ threadId, ns, checkpointId: route.to ?? "" });
  const [failed, setFailed] = useState<unknown>();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setFailed(undefined);
    try {
      const [from, to] = await Promise.all([named(client, before), named(client, after)]);
      navigate(diffRoute(from, to));
    } catch (error) {
      setFailed(error);
    }
  };
  return (
    <details className="choose-pair" open={isOpen || undefined}>
      <summary>Compare other checkpoints</summary>
      <form className="action-form" onSubmit={(event) => void submit(event)}>
        <SpotFields title="From" spot={before} onChange={setBefore} />
        <SpotFields title="To" spot={after} onChange={setAfter} />
        {failed === undefined ? null : <Failure error={failed} />}
        <div className="toolbar">
          <button
            type="submit"
            className="button"
            disabled={before.threadId === "" || after.threadId === ""}
          >
            Compare
          </button>
        </div>
      </form>
    </details>
  );
}

interface FieldsGiven {
  title: string;
  spot: Spot;
  onChange: (spot: Spot) => void;
}

function SpotFields({ title, spot, onChange }: FieldsGiven) {
  return (
    <fieldset>
      <legend>{title}</legend>
      <TextField
        label={`${title}: thread id`}
        value={spot.threadId}
        onChange={(threadId) => onChange({ ...spot, threadId })}
      />
      <TextField
        label={`${title}: namespace`}
        value={spot.ns}
        onChange={(ns) => onChange({ ...spot, ns })}
        note="Empty: the root graph."
      />
      <TextField
        label={`${title}: checkpoint id`}
        value={spot.checkpointId}
        onChange={(checkpointId) => onChange({ ...spot, checkpointId })}
        note="Empty: the newest."
      />
    </fieldset>
  );
}

/** The same place with the id of its newest checkpoint where it names none, so that the address stays what it is. */
async function named(client: Client, spot: Spot): Promise<Spot> {
  const { threadId, ns, checkpointId } = spot;
  if (checkpointId !== "") return spot;
  const page = await client.checkpoints.list({ threadId, checkpointNs: ns, limit: 1 });
  const newest = page.checkpoints[0]?.checkpointId;
  if (newest === undefined) throw new Error(`there is no checkpoint of the thread ${threadId}`);
  return { threadId, ns, checkpointId: newest };
}
