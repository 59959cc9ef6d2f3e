/** One cache of answers per credential. The client of the package tries again by itself, so the cache does not. */

import { MutationCache, QueryCache, QueryClient } from "@tanstack/react-query";
import { UnauthorizedError } from "threadkeep";

const KEPT_MS = 60_000;
const clients = new Map<string, QueryClient>();

/** `onExpired` hears that the server does not take the credential any more. */
export function queriesOf(credential: string, onExpired: (error: Error) => void): QueryClient {
  const known = clients.get(credential);
  if (known) return known;
  const onError = (error: Error) => {
    if (error instanceof UnauthorizedError) onExpired(error);
  };
  const made = new QueryClient({
    queryCache: new QueryCache({ onError }),
    mutationCache: new MutationCache({ onError }),
    defaultOptions: {
      queries: {
        retry: false,
        networkMode: "always",
        gcTime: KEPT_MS,
        staleTime: 1_000,
        refetchOnWindowFocus: true,
        refetchIntervalInBackground: false,
      },
      mutations: { retry: false, networkMode: "always" },
    },
  });
  clients.set(credential, made);
  return made;
}

export function forgetQueries(credential: string): void {
  clients.get(credential)?.clear();
  clients.delete(credential);
}
