/** The view of each route. What is not needed for the first view is loaded when it is opened. */

import { lazy, Suspense } from "react";
import { useApi } from "../api/context.js";
import { isOperator } from "../api/grants.js";
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
const operator = () => import("./operator.js");
const TenantsPage = lazy(async () => ({ default: (await operator()).TenantsPage }));
const TenantPage = lazy(async () => ({ default: (await operator()).TenantPage }));
const OperatorsPage = lazy(async () => ({ default: (await operator()).OperatorsPage }));

export function Page({ route }: { route: Route }) {
  const { identity } = useApi();
  const view = isOperator(identity) ? viewOfOperator(route) : viewOf(route);
  return <Suspense fallback={<Loading />}>{view}</Suspense>;
}

/** Pages with contents are not opened: the server would refuse what they ask for. */
function viewOfOperator(route: Route) {
  switch (route.page) {
    case "tenants":
      return <TenantsPage />;
    case "tenant":
      return <TenantPage key={route.tenant} tenant={route.tenant} />;
    case "operators":
      return <OperatorsPage />;
    case "health":
    case "missing":
      return viewOf(route);
    default:
      return (
        <Empty title="The key of an operator reads no contents" isPage>
          <p>This page is for keys and tokens of a tenant.</p>
          <Link to={{ page: "tenants" }}>Go to Tenants</Link>
        </Empty>
      );
  }
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
    case "tenants":
    case "tenant":
    case "operators":
      return (
        <Empty title="This page is for operators" isPage>
          <p>
            It needs the key of an operator, <code>tko_…</code>.
          </p>
          <Link to={{ page: "home" }}>Go to Home</Link>
        </Empty>
      );
    case "missing":
      return (
        <Empty title="There is no page at this address" isPage>
          <Link to={{ page: "home" }}>Go to Home</Link>
        </Empty>
      );
  }
}
