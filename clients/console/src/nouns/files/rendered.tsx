/** Shows how an HTML page or a drawing looks. The browser gets it by a signed address and runs nothing in it; its text is shown beside. */

import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { useApi } from "../../api/context.js";
import { useInfo } from "../../app/info.js";
import type { FilesRoute } from "../../app/route.js";
import { Failure, Loading } from "../../parts/states.js";
import { spotOf } from "./spot.js";

const ADDRESS_SECONDS = 900;

type Kind = "page" | "drawing";

/** By the name: the server sends each file as the type that its name or its writer says. */
function kindOf(path: string): Kind | undefined {
  if (/\.html?$/i.test(path)) return "page";
  return /\.svg$/i.test(path) ? "drawing" : undefined;
}

interface Given {
  route: FilesRoute;
  /** Other bytes are another picture. */
  bytes: Uint8Array;
}

export function Rendered({ route, bytes }: Given) {
  const [isOpen, setIsOpen] = useState(false);
  const kind = kindOf(route.path);
  if (kind === undefined) return null;
  return (
    <details className="rendered" onToggle={({ currentTarget: { open } }) => setIsOpen(open)}>
      <summary>As it looks</summary>
      {isOpen ? <Shown route={route} bytes={bytes} kind={kind} /> : null}
    </details>
  );
}

function Shown({ route, bytes, kind }: Given & { kind: Kind }) {
  const { data: info, error, refetch } = useInfo();
  if (error) return <Failure error={error} retry={() => void refetch()} />;
  if (!info) return <Loading />;
  if (kind === "page" && !info.features?.files_origin) {
    return (
      <p className="note">
        A page is shown only on a host of its own: this server has no <code>--files-origin</code>.
      </p>
    );
  }
  return <Framed route={route} bytes={bytes} kind={kind} />;
}

function Framed({ route, bytes, kind }: Given & { kind: Kind }) {
  const { client, identity } = useApi();
  const spot = spotOf(route, identity);
  const { data, error, refetch } = useQuery({
    queryKey: ["address", spot, kind],
    enabled: spot !== undefined,
    queryFn: ({ signal }) =>
      client.files.getUrl(spot?.namespace ?? [], spot?.path ?? "", {
        ttlSeconds: ADDRESS_SECONDS,
        show: kind === "page" ? "isolated" : undefined,
        signal,
      }),
    staleTime: (ADDRESS_SECONDS / 2) * 1_000,
  });
  const shown = useRef(bytes);
  useEffect(() => {
    if (shown.current === bytes) return;
    shown.current = bytes;
    // A browser loads a picture again only from another address.
    void refetch();
  }, [bytes, refetch]);
  if (error) return <Failure error={error} retry={() => void refetch()} />;
  if (!data) return <Loading />;
  return kind === "page" ? (
    <iframe src={data.url} sandbox="" title={`The page ${route.path}`} />
  ) : (
    <img src={data.url} alt={`The drawing ${route.path}`} />
  );
}
