/** The view of each route. What is not needed for the first view is loaded when it is opened. */

import { lazy, Suspense } from "react";
import { InboxPage } from "../nouns/threads/inbox.js";
import { ThreadPage } from "../nouns/threads/thread_page.js";
import { ThreadsPage } from "../nouns/threads/threads_page.js";
import { Link } from "../parts/link.js";
import { Empty, Loading } from "../parts/states.js";
import { HomePage } from "./home.js";
import type { Route } from "./route.js";

const StorePage = lazy(() => import("../nouns/store/store_page.js"));
const FilesPage = lazy(() => import("../nouns/files/files_page.js"));
const SessionsPage = lazy(() => import("../nouns/sessions/sessions_page.js"));
const SessionPage = lazy(() => import("../nouns/sessions/session_page.js"));
const SnapshotsPage = lazy(() => import("../nouns/snapshots/snapshots_page.js"));
const SnapshotPage = lazy(() => import("../nouns/snapshots/snapshot_page.js"));
const administration = () => import("./administration.js");
const AccessPage = lazy(async () => ({ default: (await administration()).AccessPage }));
const AuditPage = lazy(async () => ({ default: (await administration()).AuditPage }));
const UsagePage = lazy(async () => ({ default: (await administration()).UsagePage }));
const RetentionPage = lazy(async () => ({ default: (await administration()).RetentionPage }));
const HealthPage = lazy(async () => ({ default: (await administration()).HealthPage }));
const ConnectPage = lazy(async () => ({ default: (await administration()).ConnectPage }));

export function Page({ route }: { route: Route }) {
  return <Suspense fallback={<Loading />}>{viewOf(route)}</Suspense>;
}

function viewOf(route: Route) {
  switch (route.page) {
    case "home":
      return <HomePage />;
    case "connect":
      return <ConnectPage />;
    case "threads":
      return <ThreadsPage route={route} />;
    case "inbox":
      return <InboxPage />;
    case "thread":
      return <ThreadPage key={route.threadId} route={route} />;
    case "store":
      return <StorePage route={route} />;
    case "files":
      return <FilesPage route={route} />;
    case "sessions":
      return <SessionsPage route={route} />;
    case "session":
      return <SessionPage key={JSON.stringify([route.kind, route.key])} route={route} />;
    case "snapshots":
      return <SnapshotsPage route={route} />;
    case "snapshot":
      return <SnapshotPage key={route.snapshotId} snapshotId={route.snapshotId} />;
    case "access":
      return <AccessPage route={route} />;
    case "audit":
      return <AuditPage route={route} />;
    case "usage":
      return <UsagePage />;
    case "retention":
      return <RetentionPage route={route} />;
    case "health":
      return <HealthPage />;
    case "missing":
      return (
        <Empty title="There is no page at this address" isPage>
          <Link to={{ page: "home" }}>Go to Home</Link>
        </Empty>
      );
  }
}
