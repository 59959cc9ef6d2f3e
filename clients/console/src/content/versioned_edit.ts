/** Edits a text that has a version: whoever saves on an old version sees what is stored now, and chooses. */

import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { VersionConflictError } from "threadkeep";

export interface Versioned {
  /** As a person edits it. */
  text: string;
  version: number;
  /** As it is stored, where that is another text. */
  stored?: string | undefined;
  ttlMinutes?: number | undefined;
}

interface Given {
  /** Names the text in the cache. */
  name: readonly unknown[];
  /** What is stored; undefined where there is none any more. */
  load: (signal?: AbortSignal) => Promise<Versioned | undefined>;
  /** Replaces what is stored, if it is `before` still; the new version. */
  save: (text: string, before: Versioned) => Promise<number>;
}

/** A text that is saved: what it was before, and the versions of both. */
export interface Saved {
  before: Versioned;
  after: Versioned;
}

export function useVersionedEdit({ name, load, save }: Given) {
  const { data, error, refetch } = useQuery({
    queryKey: ["edit", ...name],
    queryFn: async ({ signal }) => (await load(signal)) ?? null,
    // Each dialog begins with what is stored then, and nothing is changed under the hands of a person.
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    structuralSharing: false,
  });
  const [base, setBase] = useState<Versioned>();
  const [text, setText] = useState("");
  const [theirs, setTheirs] = useState<Versioned>();
  useEffect(() => {
    if (!data || base) return;
    setBase(data);
    setText(data.text);
  }, [data, base]);
  const send = async (): Promise<Saved> => {
    const before = theirs ?? base;
    if (!before) throw new Error("nothing is loaded yet");
    try {
      const version = await save(text, before);
      return { before, after: { text, version } };
    } catch (failed) {
      if (failed instanceof VersionConflictError) {
        // What is gone meanwhile has no version: saving makes it again.
        setTheirs((await load()) ?? { text: "", version: 0 });
      }
      throw failed;
    }
  };
  const takeTheirs = () => {
    if (!theirs) return;
    setBase(theirs);
    setText(theirs.text);
    setTheirs(undefined);
  };
  return {
    text,
    setText,
    send,
    theirs,
    takeTheirs,
    isLoaded: base !== undefined,
    isAbsent: data === null,
    isChanged: base !== undefined && text !== base.text,
    error,
    retry: () => void refetch(),
  };
}
