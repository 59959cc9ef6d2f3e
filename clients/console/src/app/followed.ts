/** Has the views of a tab follow what changes, so that they ask only for that. */

import type { QueryClient } from "@tanstack/react-query";
import { createContext, useContext, useEffect, useMemo, useSyncExternalStore } from "react";
import type { Api } from "../api/context.js";
import { maySee } from "../api/grants.js";
import { SERVER_URL } from "../api/server.js";
import { Feed, type FeedSource } from "./feed.js";
import { type ChangedItem, StoreRefresh } from "./store_refresh.js";
import { ThreadRefresh } from "./thread_refresh.js";

/** The feeds of the credential. Where one is absent nothing is followed, and views ask from time to time. */
export interface Feeds {
  threads?: Feed<string> | undefined;
  /** Items, and so files. */
  store?: Feed<ChangedItem> | undefined;
}

export const FeedsContext = createContext<Feeds>({});

/** Whether the tab hears of every change of a thread, so that views of threads need not ask. */
export function useIsFollowed(): boolean {
  return useIsOpen(useContext(FeedsContext).threads);
}

/** The same of items and files. They are followed while a view asks this: a stream of the store costs each put something. */
export function useIsStoreFollowed(): boolean {
  const { store } = useContext(FeedsContext);
  useEffect(() => store?.hold(), [store]);
  return useIsOpen(store);
}

function useIsOpen<Change>(feed: Feed<Change> | undefined): boolean {
  return useSyncExternalStore(feed?.subscribe ?? subscribeToNothing, () => feed?.isOpen ?? false);
}

const subscribeToNothing = () => () => {};

/** Makes the feeds of a credential, which have its queries read anew what changes. Threads are followed for as long as the view is there. */
export function useFeeds(api: Api | undefined, queries: QueryClient): Feeds {
  const feeds = useMemo(() => feedsOf(api, queries), [api, queries]);
  useEffect(() => {
    feeds.threads?.hold();
    return () => {
      feeds.threads?.end();
      feeds.store?.end();
    };
  }, [feeds]);
  return feeds;
}

function feedsOf(api: Api | undefined, queries: QueryClient): Feeds {
  // A page that came over http from another machine has no locks.
  if (!api || !navigator.locks) return {};
  const { identity } = api;
  return {
    threads: maySee(identity, "threads") ? new Feed(threadsOf(api, queries)) : undefined,
    store: maySee(identity, "namespaces") ? new Feed(storeOf(api, queries)) : undefined,
  };
}

function threadsOf({ client, identity }: Api, queries: QueryClient): FeedSource<string> {
  const refresh = new ThreadRefresh(queries);
  return {
    name: nameOf("threads", identity),
    async *open(options) {
      for await (const change of client.threads.changes(options)) {
        yield change.type === "change" ? change.threadId : undefined;
      }
    },
    onChange: (threadId) => refresh.onChange(threadId),
  };
}

function storeOf({ client, identity }: Api, queries: QueryClient): FeedSource<ChangedItem> {
  const refresh = new StoreRefresh(queries);
  return {
    name: nameOf("store", identity),
    async *open(options) {
      // All that may be read: the tabs of the browser, which show different namespaces, share the stream.
      for await (const change of client.store.changes([], options)) {
        const { type } = change;
        yield type === "change" ? { namespace: change.namespace, key: change.key } : undefined;
      }
    },
    onChange: (change) => refresh.onChange(change),
  };
}

/** Names a feed: tabs whose credentials may do the same at the same server share it. */
function nameOf(what: string, identity: Api["identity"]): string {
  return `threadkeep ${what} ${SERVER_URL} ${JSON.stringify(identity)}`;
}
