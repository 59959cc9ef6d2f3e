/** One file: looked at as a text or a picture, and downloaded as it is. */

import { useState } from "react";
import { TooLargeError } from "threadkeep";
import { useApi } from "../../api/context.js";
import type { FilesRoute } from "../../app/route.js";
import { BytesView } from "../../content/bytes_view.js";
import { CopyButton } from "../../parts/copy.js";
import { Marked } from "../../parts/marked.js";
import { Failure, Loading } from "../../parts/states.js";
import { Versions } from "../store/versions.js";
import { FileActions } from "./file_actions.js";
import { LineView } from "./line_view.js";
import { PREVIEW_BYTES_MAX, useFile } from "./queries.js";
import { Rendered } from "./rendered.js";
import { spotOf } from "./spot.js";

export function FileView({ route }: { route: FilesRoute }) {
  const [max, setMax] = useState(PREVIEW_BYTES_MAX);
  const { identity } = useApi();
  const spot = spotOf(route, identity);
  const { data, error, refetch } = useFile(route, max);
  return (
    <article className="file">
      <h2>
        <Marked text={route.path} />
        <CopyButton text={() => route.path} what="the path" />
      </h2>
      <FileActions route={route} bytes={data ?? (error ? undefined : "loading")} />
      {error ? <Failure error={error} retry={() => void refetch()} /> : null}
      {error instanceof TooLargeError && max === PREVIEW_BYTES_MAX ? (
        <button type="button" className="button" onClick={() => setMax(Number.POSITIVE_INFINITY)}>
          Load it all the same
        </button>
      ) : null}
      {!data && !error ? <Loading /> : null}
      {data ? <Rendered route={route} bytes={data} /> : null}
      {data && route.line ? <LineView bytes={data} line={Number(route.line)} /> : null}
      {data ? <BytesView bytes={data} name={route.path} /> : null}
      {spot ? <Versions namespace={spot.namespace} itemKey={spot.path} /> : null}
    </article>
  );
}
