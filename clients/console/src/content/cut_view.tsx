/** Shows a value that the server has cut: its beginning, how large it is, and the whole of it when a person asks. */

import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { CopyButton, DownloadButton } from "../parts/copy.js";
import { Failure, Loading } from "../parts/states.js";
import { sizeText } from "../parts/units.js";
import type { Cut } from "./cut.js";
import { type CutSource, CutSourceContext, useCutSource } from "./cut_source.js";
import { counted, hasEncoding } from "./json_tree.js";

/** A whole value is large, so one that is not seen any more is soon forgotten. */
const WHOLE_KEPT_MS = 15_000;

interface Given {
  cut: Cut;
  /** What it is, for the buttons. */
  what: string;
  /** Shows the head, or the whole value. */
  render: (value: unknown, isWhole: boolean) => ReactNode;
}

export function CutView({ cut, what, render }: Given) {
  const source = useCutSource();
  const [isAsked, setIsAsked] = useState(false);
  const { pointer } = cut;
  if (source === undefined || pointer === undefined) {
    return (
      <>
        {render(cut.head, false)}
        <p className="cut">{sizesText(cut)}</p>
      </>
    );
  }
  if (isAsked) return <Whole source={source} pointer={pointer} render={render} />;
  return (
    <>
      {render(cut.head, false)}
      <p className="cut cut-actions">
        <span>{sizesText(cut)}</span>
        <button type="button" className="link-button" onClick={() => setIsAsked(true)}>
          show all
        </button>
        <CopyButton text={() => plainTextAt(source, pointer)} what={`the whole of ${what}`} />
        <DownloadButton
          bytes={() => plainTextAt(source, pointer)}
          name={nameOf(pointer, cut)}
          label="Download all of it"
        />
      </p>
    </>
  );
}

interface WholeGiven {
  source: CutSource;
  pointer: string;
  render: Given["render"];
}

/** Nothing in a whole value is a cut, whatever its fields are called. */
function Whole({ source, pointer, render }: WholeGiven) {
  const { data, error, refetch } = useWhole(source, pointer);
  if (error) return <Failure error={error} retry={() => void refetch()} />;
  if (data === undefined) return <Loading />;
  if (data === null) return <p className="note">It is not in the stored checkpoint any more.</p>;
  return <CutSourceContext value={undefined}>{render(data.value, true)}</CutSourceContext>;
}

/** A place whole; null where there is no such place. */
export function useWhole(source: CutSource | undefined, pointer: string) {
  return useQuery({
    queryKey: ["whole", ...(source?.key ?? []), pointer],
    queryFn: async ({ signal }) => (await source?.read(pointer, undefined, signal)) ?? null,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: WHOLE_KEPT_MS,
    structuralSharing: false,
  });
}

/** How large a cut value is, and how much of it is there. */
export function sizesText({ sizeBytes, length, head }: Cut): string {
  if (length === undefined) {
    const shown = typeof head === "string" ? new TextEncoder().encode(head).byteLength : 0;
    return `${sizeText(sizeBytes)} of text, ${sizeText(shown)} shown`;
  }
  const shown = typeof head === "object" && head !== null ? Object.keys(head).length : 0;
  return `${counted(length, "entry", "entries")} (${sizeText(sizeBytes)}), ${shown} shown`;
}

/** A text as itself, any other value as its JSON text. A text without an encoding in UTF-8 stays JSON, too. */
async function plainTextAt(source: CutSource, pointer: string): Promise<string> {
  const json = await source.readText(pointer);
  if (!json.startsWith('"')) return json;
  const text: unknown = JSON.parse(json);
  return typeof text === "string" && hasEncoding(text) ? text : json;
}

function nameOf(pointer: string, { length }: Cut): string {
  const path = pointer.slice(1).replaceAll("~1", "_").replaceAll("~0", "~").replaceAll("/", ".");
  return `${path}.${length === undefined ? "txt" : "json"}`;
}
