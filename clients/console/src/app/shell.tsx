/** The frame of every page: sections, where one is, appearance, and who is logged in. */

import { useEffect, useRef, useState } from "react";
import { useApi } from "../api/context.js";
import { isOperator } from "../api/grants.js";
import { Dialog } from "../parts/dialog.js";
import { Guard } from "../parts/guard.js";
import { Link } from "../parts/link.js";
import { Failure } from "../parts/states.js";
import { Toasts } from "../parts/toasts.js";
import { Breadcrumb } from "./breadcrumb.js";
import { CredentialMenu } from "./credentials.js";
import { SHORTCUTS, useShortcut } from "./keyboard.js";
import { navigate, useRoute } from "./location.js";
import { Page } from "./page.js";
import { Palette } from "./palette.js";
import { changePreferences, THEMES, usePreferences } from "./preferences.js";
import { addressOf, type Route } from "./route.js";
import { FILES, type SectionOfConsole, STORE, sectionOf, sectionsOf, shownTo } from "./sections.js";

export function Shell() {
  const { identity } = useApi();
  const route = shownTo(identity, useRoute());
  const main = useRef<HTMLElement>(null);
  const sections = sectionsOf(identity);
  useSectionKeys();
  useFocusOnNewPage(route, main);
  return (
    <div className="shell">
      <header className="top">
        <a
          className="skip-link"
          href={addressOf(route)}
          onClick={(event) => {
            event.preventDefault();
            main.current?.focus();
          }}
        >
          Skip to the content
        </a>
        <Link to={{ page: "home" }} className="brand">
          threadkeep
        </Link>
        <Breadcrumb route={route} />
        <div className="top-end">
          <Palette sections={sections} route={route} />
          <KeysButton />
          <ThemeSelect />
          <CredentialMenu />
        </div>
      </header>
      <Sections route={route} sections={sections} />
      <main ref={main} tabIndex={-1}>
        <Guard
          key={keyOf(route)}
          at={addressOf(route)}
          instead={(error) => <Failure error={error} />}
        >
          <Page route={route} />
        </Guard>
      </main>
      <Toasts />
    </div>
  );
}

/** A page begins anew at another address, unless its own controls change the address: these keep the focus. */
function keyOf(route: Route): string {
  return route.page === "threads" || route.page === "access" ? route.page : addressOf(route);
}

function Sections({ route, sections }: { route: Route; sections: readonly SectionOfConsole[] }) {
  return (
    <nav className="sections" aria-label="Sections">
      <ul>
        {sections.map(({ title, to, icon: Icon }) => (
          <li key={title}>
            <Link to={to} isCurrent={sectionOf(route) === to.page}>
              <Icon aria-hidden />
              <span>{title}</span>
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

function useSectionKeys(): void {
  const administers = isOperator(useApi().identity);
  useShortcut("g h", () => navigate({ page: "home" }));
  useShortcut("g t", () => navigate({ page: administers ? "tenants" : "threads" }));
  useShortcut("g i", () => navigate({ page: "inbox" }));
  useShortcut("g f", () => navigate(FILES));
  useShortcut("g s", () => navigate(STORE));
  useShortcut("g e", () => navigate({ page: "sessions" }));
  useShortcut("g n", () => navigate({ page: "snapshots" }));
  useShortcut("g u", () => navigate({ page: "usage" }));
  useShortcut("g a", () => navigate({ page: administers ? "operators" : "access" }));
  useShortcut("g r", () => navigate({ page: "retention" }));
  useShortcut("g o", () => navigate({ page: "health" }));
  useShortcut("g l", () => navigate({ page: "audit" }));
}

function placeOf(route: Route): string {
  if (route.page === "thread") return `thread ${route.threadId} ${route.tab}`;
  return route.page === "tenant" ? `tenant ${route.tenant}` : route.page;
}

/** After a link to another page the keyboard goes on there, and a screen reader says where one is. */
function useFocusOnNewPage(route: Route, main: React.RefObject<HTMLElement | null>): void {
  const place = placeOf(route);
  const last = useRef(place);
  useEffect(() => {
    if (last.current === place) return;
    last.current = place;
    window.scrollTo(0, 0);
    main.current?.focus({ preventScroll: true });
  }, [place, main]);
}

function KeysButton() {
  const [isOpen, setIsOpen] = useState(false);
  const { keys } = usePreferences();
  useShortcut("?", () => setIsOpen(true));
  return (
    <>
      <button
        type="button"
        className="icon-button wide-only"
        onClick={() => setIsOpen(true)}
        title="Keys"
      >
        <kbd aria-hidden>?</kbd>
        <span className="visually-hidden">Keys</span>
      </button>
      {isOpen ? (
        <Dialog title="Keys" onClose={() => setIsOpen(false)}>
          <dl className="keys">
            {SHORTCUTS.map(({ keys: combination, does }) => (
              <div key={combination}>
                <dt>
                  <kbd>{combination}</kbd>
                </dt>
                <dd>{does}</dd>
              </div>
            ))}
          </dl>
          <label>
            <input
              type="checkbox"
              checked={keys}
              onChange={(event) => changePreferences({ keys: event.target.checked })}
            />{" "}
            Single keys are commands
          </label>
        </Dialog>
      ) : null}
    </>
  );
}

function ThemeSelect() {
  const { theme } = usePreferences();
  return (
    <select
      aria-label="Appearance"
      value={theme}
      onChange={(event) => {
        const chosen = THEMES.find((one) => one === event.target.value);
        if (chosen) changePreferences({ theme: chosen });
      }}
    >
      {THEMES.map((one) => (
        <option key={one}>{one}</option>
      ))}
    </select>
  );
}
