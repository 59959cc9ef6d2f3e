/** Draws the checkpoints of a thread as a graph of lanes: forks and namespaces have lanes of their own. */

export interface Linked {
  key: string;
  parent: string | undefined;
}

export interface Lanes {
  /** Where the checkpoint is. */
  lane: number;
  /** Lines from the upper edge of a row: to its middle where they end in the checkpoint, else to the lower edge. */
  above: { lane: number; isOwn: boolean }[];
  /** Whether a line goes down to the parent. */
  hasParent: boolean;
  /** How many checkpoints have this one as their parent, among those that are shown. */
  children: number;
}

/** What each lane leads to, at the edge between two rows. */
export type OpenLanes = readonly (string | undefined)[];

/** The lanes of rows, the newest first. `begin` are those that are open above the first row. */
export function lanesFrom(
  rows: readonly Linked[],
  begin: OpenLanes,
): { lanes: Lanes[]; open: OpenLanes } {
  const open = [...begin];
  const lanes = rows.map(({ key, parent }) => {
    const above = open.flatMap((target, lane) =>
      target === undefined ? [] : [{ lane, isOwn: target === key }],
    );
    const own = above.filter(({ isOwn }) => isOwn).map(({ lane }) => lane);
    for (const lane of own) open[lane] = undefined;
    const lane = own[0] ?? freeLane(open);
    open[lane] = parent;
    while (open.length > 0 && open.at(-1) === undefined) open.pop();
    return { lane, above, hasParent: parent !== undefined, children: own.length };
  });
  return { lanes, open };
}

function freeLane(open: readonly (string | undefined)[]): number {
  const free = open.indexOf(undefined);
  return free < 0 ? open.length : free;
}
