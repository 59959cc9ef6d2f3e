/** One document of a session: JSON as a tree, anything else as a text. */

import { useMemo, useState } from "react";
import type { NamedDocument, SessionAddress, SessionDocument } from "threadkeep";
import { JsonTree } from "../../content/json_tree_view.js";
import { isMarkdownName, TextView } from "../../content/text_view.js";
import { CopyButton, DownloadButton } from "../../parts/copy.js";
import { Marked } from "../../parts/marked.js";
import { Empty, Failure, Loading } from "../../parts/states.js";
import { Size, Time } from "../../parts/units.js";
import { jsonOfDocument } from "./document_json.js";
import { useDocument } from "./queries.js";

/** Larger ones are loaded when a person asks for it. */
const SHOWN_BYTES_MAX = 4 * 1_024 * 1_024;

interface Given {
  session: SessionAddress;
  name: string;
  /** Absent: the session has no such document. */
  listed: NamedDocument | undefined;
}

export function DocumentView({ session, name, listed }: Given) {
  const [isWanted, setIsWanted] = useState(false);
  const isLoaded = isWanted || (listed !== undefined && listed.size <= SHOWN_BYTES_MAX);
  const { data, error, refetch } = useDocument(session, name, listed?.version, isLoaded);
  return (
    <article className="item">
      <h2>
        <Marked text={name === "" ? "(empty name)" : name} />
        <CopyButton text={() => name} what="the name" />
      </h2>
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      {listed === undefined && !data ? (
        <Empty title="There is no such document">It was deleted or never written.</Empty>
      ) : !isLoaded ? (
        <p>
          It has <Size bytes={listed?.size ?? 0} />.{" "}
          <button type="button" className="button" onClick={() => setIsWanted(true)}>
            Load it all the same
          </button>
        </p>
      ) : data ? (
        <Content name={name} found={data} />
      ) : error ? null : (
        <Loading />
      )}
    </article>
  );
}

function Content({ name, found }: { name: string; found: SessionDocument }) {
  const { content, version, size, updatedAtMs } = found;
  const json = useMemo(() => jsonOfDocument(content), [content]);
  return (
    <>
      <p className="thread-facts">
        <span>version {version}</span>
        <Size bytes={size} />
        <span>
          changed <Time at={new Date(updatedAtMs)} />
        </span>
        <DownloadButton bytes={() => content} name={name} />
      </p>
      {json === undefined ? (
        <TextView text={content} isPlain={!isMarkdownName(name)} />
      ) : (
        <JsonTree value={json} what="the document" text={() => content} />
      )}
    </>
  );
}
