/** The sections of the console: those that a credential may see, in the order of the navigation. */

import {
  Building2,
  Camera,
  ClipboardList,
  FileText,
  Gauge,
  HeartPulse,
  Home,
  Inbox,
  KeyRound,
  Layers,
  MessagesSquare,
  Plug,
  Recycle,
  ScrollText,
} from "lucide-react";
import type { Identity } from "threadkeep";
import { isOperator, maySee, type Section } from "../api/grants.js";
import type { Route } from "./route.js";

export interface SectionOfConsole {
  title: string;
  to: Route;
  icon: typeof Home;
  /** Absent: every credential of a tenant sees it. */
  needs?: Section;
}

export const FILES: Route = { page: "files", place: "namespaces", namespace: [], path: "/" };
export const STORE: Route = { page: "store", namespace: [] };
const OF_TENANT: readonly SectionOfConsole[] = [
  { title: "Home", to: { page: "home" }, icon: Home },
  { title: "Threads", to: { page: "threads" }, icon: MessagesSquare, needs: "threads" },
  { title: "Inbox", to: { page: "inbox" }, icon: Inbox, needs: "threads" },
  { title: "Files", to: FILES, icon: FileText, needs: "namespaces" },
  { title: "Store", to: STORE, icon: Layers, needs: "namespaces" },
  { title: "Sessions", to: { page: "sessions" }, icon: ScrollText, needs: "sessions" },
  { title: "Snapshots", to: { page: "snapshots" }, icon: Camera, needs: "snapshots" },
  { title: "Access", to: { page: "access" }, icon: KeyRound, needs: "access" },
  { title: "Audit", to: { page: "audit" }, icon: ClipboardList, needs: "tenant" },
  { title: "Usage", to: { page: "usage" }, icon: Gauge, needs: "tenant" },
  { title: "Retention", to: { page: "retention" }, icon: Recycle, needs: "tenant" },
  { title: "Health", to: { page: "health" }, icon: HeartPulse, needs: "tenant" },
  { title: "Connect", to: { page: "connect" }, icon: Plug },
];
const OF_OPERATORS: readonly SectionOfConsole[] = [
  { title: "Tenants", to: { page: "tenants" }, icon: Building2 },
  { title: "Operators", to: { page: "operators" }, icon: KeyRound },
  { title: "Health", to: { page: "health" }, icon: HeartPulse },
];

export function sectionsOf(identity: Identity): readonly SectionOfConsole[] {
  if (isOperator(identity)) return OF_OPERATORS;
  return OF_TENANT.filter(({ needs }) => needs === undefined || maySee(identity, needs));
}

/** The first page of an operator is the list of tenants. */
export function shownTo(identity: Identity, route: Route): Route {
  return route.page === "home" && isOperator(identity) ? { page: "tenants" } : route;
}

/** The section that a page belongs to. */
export function sectionOf({ page }: Route): Route["page"] {
  switch (page) {
    case "thread":
      return "threads";
    case "session":
      return "sessions";
    case "snapshot":
      return "snapshots";
    case "tenant":
      return "tenants";
    default:
      return page;
  }
}
