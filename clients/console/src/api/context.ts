/** Gives every view the client of the chosen credential and the identity of the caller. */

import { createContext, useContext } from "react";
import type { Client, Identity } from "threadkeep";

export interface Api {
  client: Client;
  identity: Identity;
}

export const ApiContext = createContext<Api | undefined>(undefined);

export function useApi(): Api {
  const api = useContext(ApiContext);
  if (!api) throw new Error("no view is shown before the server knows the caller");
  return api;
}
