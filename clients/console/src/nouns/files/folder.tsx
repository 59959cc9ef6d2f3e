/** A folder: its folders and files. */

import { navigate } from "../../app/location.js";
import type { FilesRoute } from "../../app/route.js";
import { Link } from "../../parts/link.js";
import { Marked } from "../../parts/marked.js";
import { Rows, useLoadMore } from "../../parts/rows.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { Size, Time } from "../../parts/units.js";
import { FolderActions } from "./file_actions.js";
import { Found } from "./found.js";
import { type Entry, useFolder } from "./queries.js";
import { isSearch, SearchForm } from "./search_form.js";

const ROW_PX = 40;

export function Folder({ route }: { route: FilesRoute }) {
  return (
    <>
      <FolderActions route={route} />
      <SearchForm route={route} />
      {isSearch(route) ? <Found route={route} /> : <Entries route={route} />}
    </>
  );
}

function Entries({ route }: { route: FilesRoute }) {
  const query = useFolder(route);
  const { data, error, refetch } = query;
  const loadMore = useLoadMore(query);
  if (error && !data) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading />;
  const entries = data.pages.flatMap((page) => page.entries);
  if (entries.length === 0) return <Empty title="The folder is empty" />;
  return (
    <Rows
      label="Files"
      rows={entries}
      keyOf={({ path }) => path}
      heightPx={ROW_PX}
      render={(entry) => <EntryRow entry={entry} route={route} />}
      onOpen={({ path }) => navigate({ ...route, path })}
      onEnd={loadMore}
    />
  );
}

interface EntryGiven {
  entry: Entry;
  route: FilesRoute;
  /** Absent: its name in the folder. */
  name?: string;
}

export function EntryRow({ entry, route, name = nameIn(entry) }: EntryGiven) {
  const { path, isDir, size, modifiedAt } = entry;
  return (
    <div className="file-row">
      <Link to={{ ...route, path }}>
        <Marked text={isDir ? `${name}/` : name} />
      </Link>
      <span className="thread-facts">
        {isDir ? null : <Size bytes={size} />}
        {modifiedAt === undefined ? null : <Time at={modifiedAt} />}
      </span>
    </div>
  );
}

function nameIn({ path }: Entry): string {
  return path.replace(/\/$/, "").split("/").at(-1) ?? path;
}
