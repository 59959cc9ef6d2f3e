/** Shows that a view is loading, is empty or has failed. */

import { type ReactNode, useEffect, useState } from "react";
import {
  NotFoundError,
  NotGrantedError,
  ThreadkeepError,
  TransportError,
  UnavailableError,
} from "threadkeep";
import { Marked } from "./marked.js";

const QUIET_MS = 150;

/** Nothing for a moment, so that fast answers do not flicker. */
export function Loading({ what = "Loading" }: { what?: string }) {
  const [isShown, setIsShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setIsShown(true), QUIET_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <div className="loading" role="status">
      {isShown ? `${what} …` : ""}
    </div>
  );
}

interface EmptyGiven {
  title: string;
  /** Whether it is all that the page shows. */
  isPage?: boolean;
  children?: ReactNode;
}

export function Empty({ title, isPage = false, children }: EmptyGiven) {
  return (
    <div className="empty">
      {isPage ? <h1>{title}</h1> : <p className="empty-title">{title}</p>}
      {children}
    </div>
  );
}

interface FailureGiven {
  error: unknown;
  retry?: (() => void) | undefined;
}

/** An error by its code, with what finds it in the server's log. */
export function Failure({ error, retry }: FailureGiven) {
  const known = error instanceof ThreadkeepError ? error : undefined;
  return (
    <div className="failure" role="alert">
      <p className="failure-title">{titleOf(error)}</p>
      <p>{known?.detail ?? (error instanceof Error ? error.message : String(error))}</p>
      <p className="failure-facts">
        <code>{known?.code ?? "error"}</code>
        {known?.limit === undefined ? null : <span>limit {known.limit.toLocaleString("en")}</span>}
        {known?.requestId === undefined ? null : (
          <span>
            request <code>{known.requestId}</code>
          </span>
        )}
      </p>
      {retry ? (
        <button type="button" className="button" onClick={retry}>
          Retry
        </button>
      ) : null}
    </div>
  );
}

/** The page of a thing that could not be loaded, under its name. */
export function FailedPage({ name, ...failure }: { name: string } & FailureGiven) {
  return (
    <>
      <header className="page-head">
        <h1>
          <Marked text={name} />
        </h1>
      </header>
      <Failure {...failure} />
    </>
  );
}

/** Codes whose error class says too little. */
const TITLES: ReadonlyMap<string, string> = new Map(
  Object.entries({
    key_destroyed: "The content was encrypted with a key that has been destroyed",
    position_gone: "The list has changed too much. Load it again",
    quota_exceeded: "The tenant is at its quota",
    search_needs_plaintext: "The tenant is encrypted, so the server cannot search in it",
    search_needs_pgvector: "The database of the server cannot compare vectors",
    search_too_wide: "The search is too wide. Give another condition",
    too_large: "It is too large for one answer",
    value_too_large: "A value is too large for one answer",
    key_expired: "The key has expired",
    token_expired: "The token has expired",
    token_revoked: "The token was revoked",
    too_many_requests: "Too many requests. Wait a moment",
  }),
);

export function titleOf(error: unknown): string {
  if (!(error instanceof ThreadkeepError)) return "The console has failed";
  const byCode = TITLES.get(error.code);
  if (byCode !== undefined) return byCode;
  if (error instanceof TransportError) return "The server does not answer";
  if (error instanceof UnavailableError) return "The server cannot do it now";
  if (error instanceof NotGrantedError) return "This key or token is not allowed to do it";
  if (error instanceof NotFoundError) return "It is not there";
  return "The server refused it";
}
