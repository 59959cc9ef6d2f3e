/** What a search below a folder has found: files, or lines of files. The server searches one namespace. */

import { useQuery } from "@tanstack/react-query";
import type { FileLine } from "threadkeep";
import { useApi } from "../../api/context.js";
import { navigate } from "../../app/location.js";
import type { FilesRoute } from "../../app/route.js";
import { counted, cutText } from "../../content/json_tree.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Rows } from "../../parts/rows.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { EntryRow } from "./folder.js";
import { type Entry, entryOf } from "./queries.js";
import { type Spot, shownPath, spotOf } from "./spot.js";

const FOUND_MAX = 1_000;
const ROW_PX = 40;
const LINE_SHOWN_MAX = 300;

interface Given {
  route: FilesRoute;
  spot: Spot;
}

export function Found({ route }: { route: FilesRoute }) {
  const { identity } = useApi();
  const spot = spotOf(route, identity);
  if (spot === undefined) return <Empty title="There is nothing to search in" />;
  const isDriveRoot = route.place === "drive" && route.path === "/";
  return (
    <>
      {isDriveRoot ? (
        <p className="note">
          The search looks at the workspace. Open memories, or the folder of a thread, to search
          there.
        </p>
      ) : null}
      {route.grep ? (
        <FoundLines route={route} spot={spot} text={route.grep} />
      ) : (
        <FoundFiles route={route} spot={spot} pattern={route.glob ?? ""} />
      )}
    </>
  );
}

function FoundFiles({ route, spot, pattern }: Given & { pattern: string }) {
  const { client } = useApi();
  const { namespace, path } = spot;
  const { data, error, refetch } = useQuery({
    queryKey: ["glob", namespace, path, pattern],
    queryFn: ({ signal }) =>
      client.files.glob(namespace, pattern, { path, limit: FOUND_MAX, signal }),
  });
  if (error) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading what="Searching" />;
  const entries = data.matches.map(entryOf).map((one): Entry => {
    return { ...one, path: shownPath(route, spot, one.path) };
  });
  if (entries.length === 0) return <Empty title="No file matches" />;
  const folder = { ...route, glob: undefined };
  return (
    <>
      <Count of={counted(entries.length, "file", "files")} found={data} />
      <Rows
        label="Files that were found"
        rows={entries}
        keyOf={(entry) => entry.path}
        heightPx={ROW_PX}
        render={(entry) => <EntryRow entry={entry} route={folder} name={entry.path} />}
        onOpen={(entry) => navigate({ ...folder, path: entry.path })}
      />
    </>
  );
}

function FoundLines({ route, spot, text }: Given & { text: string }) {
  const { client } = useApi();
  const { namespace, path } = spot;
  const glob = route.glob || undefined;
  const { data, error, refetch } = useQuery({
    queryKey: ["grep", namespace, path, text, glob],
    queryFn: ({ signal }) =>
      client.files.grep(namespace, text, { path, glob, maxCount: FOUND_MAX, signal }),
  });
  if (error) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading what="Searching" />;
  const { matches } = data;
  if (matches.length === 0) return <Empty title="No line has the text" />;
  const routeOf = (line: FileLine): FilesRoute => ({
    ...route,
    glob: undefined,
    grep: undefined,
    path: shownPath(route, spot, line.path),
    line: String(line.line),
  });
  return (
    <>
      <Count of={counted(matches.length, "line", "lines")} found={data} />
      <Rows
        label="Lines that were found"
        rows={matches}
        keyOf={(one) => `${one.line} ${one.path}`}
        heightPx={ROW_PX}
        render={(one) => <LineRow found={one} to={routeOf(one)} />}
        onOpen={(one) => navigate(routeOf(one))}
      />
    </>
  );
}

function Count({ of, found }: { of: string; found: FoundCount }) {
  const reason = found.truncationReason === undefined ? "" : ` (${found.truncationReason})`;
  return (
    <p role="status" className="note">
      {of}
      {found.truncated
        ? `. There may be more: the search ended at a limit${reason}. Search in a folder, or for less.`
        : ""}
    </p>
  );
}

interface FoundCount {
  truncated: boolean;
  truncationReason?: string | undefined;
}

function LineRow({ found, to }: { found: FileLine; to: FilesRoute }) {
  const text = cutText(found.text, LINE_SHOWN_MAX);
  return (
    <div className="found-line">
      <Link to={to}>
        <Marked text={to.path} />:{found.line}
      </Link>
      <code>
        <Marked text={text.text} />
        {text.more > 0 ? "…" : ""}
      </code>
    </div>
  );
}
