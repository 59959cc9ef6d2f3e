/** Shows the way from the section to the open page as links. */

import { useEffect } from "react";
import { Link } from "../parts/link.js";
import { Marked } from "../parts/marked.js";
import type { FilesRoute, Route, SessionRoute, StoreRoute } from "./route.js";

interface Step {
  text: string;
  to: Route;
}

const SECTION_TITLES = {
  home: "Home",
  connect: "Connect",
  inbox: "Inbox",
  threads: "Threads",
  sessions: "Sessions",
  snapshots: "Snapshots",
  access: "Access",
  audit: "Audit",
  usage: "Usage",
  health: "Health",
  tenants: "Tenants",
  operators: "Operators",
} as const;

export function Breadcrumb({ route }: { route: Route }) {
  const steps = stepsOf(route);
  const title = steps.map(({ text }) => text).join(" / ");
  useEffect(() => {
    document.title = `${title} – threadkeep`;
  }, [title]);
  return (
    <nav className="breadcrumb" aria-label="Breadcrumb">
      <ol>
        {steps.map(({ text, to }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the place in the path is the step
          <li key={at}>
            <Link to={to} isCurrent={at === steps.length - 1}>
              <Marked text={text} />
            </Link>
          </li>
        ))}
      </ol>
    </nav>
  );
}

function stepsOf(route: Route): Step[] {
  switch (route.page) {
    case "thread": {
      const { threadId, tab } = route;
      const steps: Step[] = [
        { text: "Threads", to: { page: "threads" } },
        { text: threadId, to: { page: "thread", threadId, tab: "conversation" } },
      ];
      return tab === "conversation" ? steps : [...steps, { text: tab, to: route }];
    }
    case "store":
      return storeSteps(route);
    case "files":
      return filesSteps(route);
    case "session":
      return sessionSteps(route);
    case "retention": {
      const steps: Step[] = [{ text: "Retention", to: { page: "retention" } }];
      return route.thread === undefined ? steps : [...steps, { text: route.thread, to: route }];
    }
    case "snapshot":
      return [
        { text: "Snapshots", to: { page: "snapshots" } },
        { text: route.snapshotId, to: route },
      ];
    case "tenant":
      return [
        { text: "Tenants", to: { page: "tenants" } },
        { text: route.tenant, to: route },
      ];
    case "missing":
      return [{ text: "Not a page", to: route }];
    default:
      return [{ text: SECTION_TITLES[route.page], to: { page: route.page } }];
  }
}

function storeSteps({ namespace, key }: StoreRoute): Step[] {
  const steps: Step[] = [{ text: "Store", to: { page: "store", namespace: [] } }];
  namespace.forEach((label, at) => {
    steps.push({ text: label, to: { page: "store", namespace: namespace.slice(0, at + 1) } });
  });
  if (key !== undefined) steps.push({ text: key, to: { page: "store", namespace, key } });
  return steps;
}

function sessionSteps({ kind, key, stream, document: name }: SessionRoute): Step[] {
  const steps: Step[] = [
    { text: "Sessions", to: { page: "sessions" } },
    { text: kind, to: { page: "sessions", kind } },
    { text: key.join(" / "), to: { page: "session", kind, key } },
  ];
  const opened = name ?? stream;
  if (opened !== undefined && opened !== "") {
    steps.push({ text: opened, to: { page: "session", kind, key, stream, document: name } });
  }
  return steps;
}

function filesSteps(given: FilesRoute): Step[] {
  const { glob: _glob, grep: _grep, line: _line, ...route } = given;
  const { place, namespace, path } = route;
  const top: Route = { page: "files", place: "namespaces", namespace: [], path: "/" };
  const steps: Step[] = [{ text: "Files", to: top }];
  if (place === "namespaces") return steps;
  const name = place === "drive" ? "Drive" : namespace.join(" / ");
  steps.push({ text: name, to: { ...route, path: "/" } });
  const folders = path.split("/").filter((part) => part !== "");
  folders.forEach((folder, at) => {
    const isLast = at === folders.length - 1;
    const end = isLast && !path.endsWith("/") ? "" : "/";
    steps.push({
      text: folder,
      to: { ...route, path: `/${folders.slice(0, at + 1).join("/")}${end}` },
    });
  });
  return steps;
}
