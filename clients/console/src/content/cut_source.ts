/** Tells views of cut values where the rest of them is to be had. */

import { createContext, useContext } from "react";
import type { Heads } from "./cut.js";

/** A part of a list or an object. */
export interface Window extends Heads {
  from: number;
}

export interface CutSource {
  /** Of the checkpoint whose values they are. */
  key: readonly unknown[];
  /** A place of the values, whole or a part of it. Undefined: there is no such place. */
  read: (
    pointer: string,
    window: Window | undefined,
    signal: AbortSignal | undefined,
  ) => Promise<{ value: unknown } | undefined>;
  /** The JSON text of a place. */
  readText: (pointer: string) => Promise<string>;
}

/** Undefined: values are whole, and nothing in them is a cut. */
export const CutSourceContext = createContext<CutSource | undefined>(undefined);

export function useCutSource(): CutSource | undefined {
  return useContext(CutSourceContext);
}

/** For values that are cut outside of the channels: what was left out has no place to be read from. */
export const WITHOUT_PLACES: CutSource = {
  key: [],
  read: () => Promise.resolve(undefined),
  readText: () => Promise.reject(new Error("it has no place")),
};
