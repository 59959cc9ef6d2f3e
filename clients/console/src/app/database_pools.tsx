/** Shows how many connections to the database are in use, and how many calls wait for one. */

import { useId } from "react";
import { Table } from "../parts/table.js";
import type { Sample } from "./metrics_text.js";

const CONNECTIONS = "threadkeep_database_connections";
const WAITING = "threadkeep_database_waiting";
const TITLES = new Map([
  ["data", "Reads and writes"],
  ["searches", "Searches and lists"],
  ["keys", "Reads of keys, readiness"],
  ["rights", "Changes of keys and tokens"],
  ["readers", "Reads"],
  ["writer", "Writes"],
]);

/** The connections of one pool. */
export interface Pool {
  title: string;
  inUse: number;
  idle: number;
  max: number;
  waiting: number;
}

/** Returns the pools in the order in which the server tells them; none where it tells of no pool. */
export function poolsIn(samples: readonly Sample[]): Pool[] {
  const pools = new Map<string, Pool>();
  for (const { name, labels, value } of samples) {
    const pool = labels.get("pool");
    if (pool === undefined || (name !== CONNECTIONS && name !== WAITING)) continue;
    const empty = { title: TITLES.get(pool) ?? pool, inUse: 0, idle: 0, max: 0, waiting: 0 };
    const found = pools.get(pool) ?? empty;
    pools.set(pool, found);
    const state = labels.get("state");
    if (name === WAITING) found.waiting = value;
    else if (state === "in_use") found.inUse = value;
    else if (state === "idle") found.idle = value;
    else if (state === "max") found.max = value;
  }
  return [...pools.values()];
}

export function DatabasePools({ samples }: { samples: readonly Sample[] }) {
  const id = useId();
  const pools = poolsIn(samples);
  if (pools.length === 0) return null;
  return (
    <section>
      <h2 id={id}>Connections to the database</h2>
      <Table
        labelledBy={id}
        heads={["For", "In use", "Open and free", "At most", "Calls that wait"]}
      >
        {pools.map(({ title, inUse, idle, max, waiting }) => (
          <tr key={title}>
            <th scope="row">{title}</th>
            <td>{inUse}</td>
            <td>{idle}</td>
            <td>{max}</td>
            <td>{waiting}</td>
          </tr>
        ))}
      </Table>
    </section>
  );
}
