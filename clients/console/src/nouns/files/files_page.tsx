/** Files: those of a namespace, and the drive of a subject. */

import { type FormEvent, useId, useState } from "react";
import type { Identity } from "threadkeep";
import { useApi } from "../../api/context.js";
import { methodText, samplesOf } from "../../api/snippets.js";
import { navigate } from "../../app/location.js";
import type { FilesRoute } from "../../app/route.js";
import { ShowAsCode } from "../../parts/code.js";
import { Link } from "../../parts/link.js";
import { Namespaces } from "../store/namespaces.js";
import { FileView } from "./file_view.js";
import { Folder } from "./folder.js";
import { isSearch } from "./search_form.js";
import { type Spot, spotOf } from "./spot.js";

export default function FilesPage({ route }: { route: FilesRoute }) {
  const { identity } = useApi();
  const { place, path } = route;
  return (
    <>
      <header className="page-head">
        <h1>Files</h1>
        {place === "namespaces" ? null : <ShowAsCode samples={samples(route, identity)} />}
      </header>
      {place === "namespaces" ? (
        <Places />
      ) : path.endsWith("/") ? (
        <Folder key={JSON.stringify(route)} route={route} />
      ) : (
        <FileView key={JSON.stringify(route)} route={route} />
      )}
    </>
  );
}

function searchSamples({ grep, glob = "" }: FilesRoute, { namespace, path }: Spot) {
  const search = grep ? { pattern: grep, glob: glob || undefined } : { pattern: glob };
  const { pattern, ...more } = search;
  const name = grep ? "grep" : "glob";
  return samplesOf(
    {
      method: "POST",
      path: `/v1/files/${name}`,
      body: { namespace, path, ...search, dialect: "javascript" },
    },
    { typescript: methodText(`files.${name}`, namespace, pattern, { path, ...more }) },
  );
}

function samples(route: FilesRoute, identity: Identity) {
  const { place, namespace, path, subject } = route;
  const spot = spotOf(route, identity);
  if (isSearch(route) && spot !== undefined) return searchSamples(route, spot);
  if (place === "drive") {
    return samplesOf(
      { method: "GET", path: "/api/storage/list", query: { path, subject } },
      { typescript: methodText("drive.list", path, { subject }) },
    );
  }
  const python = { namespace, path, dialect: "javascript" };
  return samplesOf(
    { method: "POST", path: "/v1/files/ls", body: python },
    { typescript: methodText("files.ls", namespace, path) },
  );
}

/** Where files are: any namespace may have some, and each subject has a drive. */
function Places() {
  return (
    <>
      <section>
        <h2>Drive</h2>
        <DriveChoice />
      </section>
      <section>
        <h2>Namespaces</h2>
        <p className="note">
          Files are items of a namespace. A namespace without files is an empty folder.
        </p>
        <Namespaces
          label="Namespaces"
          chosen={[]}
          to={(namespace) => ({ page: "files", place: "namespace", namespace, path: "/" })}
        />
      </section>
    </>
  );
}

function DriveChoice() {
  const { identity } = useApi();
  // A server without keys keeps one drive.
  const [subject, setSubject] = useState(identity.credential === "local" ? "default" : "");
  const field = useId();
  if (identity.subject !== undefined) {
    return (
      <Link to={{ page: "files", place: "drive", namespace: [], path: "/" }}>
        Drive of {identity.subject}
      </Link>
    );
  }
  const open = (event: FormEvent) => {
    event.preventDefault();
    navigate({ page: "files", place: "drive", namespace: [], path: "/", subject: subject.trim() });
  };
  return (
    <form className="filters" onSubmit={open}>
      <label htmlFor={field}>Subject</label>
      <input id={field} value={subject} onChange={(event) => setSubject(event.target.value)} />
      <button type="submit" className="button" disabled={subject.trim() === ""}>
        Open the drive
      </button>
    </form>
  );
}
