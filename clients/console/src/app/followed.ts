/** Has the views of a tab follow the threads, so that they ask only for what has changed. */

import type { QueryClient } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useMemo, useSyncExternalStore } from "react";
import type { Api } from "../api/context.js";
import { maySee } from "../api/grants.js";
import { SERVER_URL } from "../api/server.js";
import { Refresh } from "./refresh.js";
import { ThreadFeed } from "./thread_feed.js";

/** The feed of the credential. Absent: nothing is followed, and views ask from time to time. */
export const FeedContext = createContext<ThreadFeed | undefined>(undefined);

/** Whether the tab hears of every change of a thread, so that views of threads need not ask. */
export function useIsFollowed(): boolean {
  const feed = useContext(FeedContext);
  return useSyncExternalStore(feed?.subscribe ?? subscribeToNothing, () => feed?.isOpen ?? false);
}

const subscribeToNothing = () => () => {};

/** Follows the threads for as long as the view is there, and has its queries read anew what changed. */
export function useThreadFeed(api: Api | undefined, queries: QueryClient): ThreadFeed | undefined {
  const feed = useMemo(() => {
    // A page that came over http from another machine has no locks.
    if (!api || !navigator.locks || !maySee(api.identity, "threads")) return undefined;
    // Who may do the same at the same server hears the same.
    const name = `threadkeep threads ${SERVER_URL} ${JSON.stringify(api.identity)}`;
    return new ThreadFeed(api.client, name, new Refresh(queries));
  }, [api, queries]);
  useEffect(() => feed?.start(), [feed]);
  return feed;
}
