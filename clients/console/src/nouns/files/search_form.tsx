/** The form of a search below a folder: by the names of files, and by a text in their lines. */

import { type FormEvent, useId, useRef, useState } from "react";
import { useApi } from "../../api/context.js";
import { useShortcut } from "../../app/keyboard.js";
import { navigate } from "../../app/location.js";
import type { FilesRoute } from "../../app/route.js";
import { spotOf } from "./spot.js";

export function isSearch({ glob, grep }: FilesRoute): boolean {
  return Boolean(glob) || Boolean(grep);
}

export function SearchForm({ route }: { route: FilesRoute }) {
  const { identity } = useApi();
  const [glob, setGlob] = useState(route.glob ?? "");
  const [grep, setGrep] = useState(route.grep ?? "");
  const field = useRef<HTMLInputElement>(null);
  const ids = useId();
  useShortcut("/", () => field.current?.focus());
  if (spotOf(route, identity) === undefined) return null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    navigate({ ...route, glob: glob.trim() || undefined, grep: grep || undefined });
  };
  return (
    <search>
      <form className="filters" onSubmit={submit}>
        <label htmlFor={`${ids}-glob`}>Names</label>
        <input
          ref={field}
          id={`${ids}-glob`}
          placeholder={grep === "" ? "**/*.md" : "*.md"}
          spellCheck={false}
          value={glob}
          onChange={({ target }) => setGlob(target.value)}
        />
        <label htmlFor={`${ids}-grep`}>Text in lines</label>
        <input
          id={`${ids}-grep`}
          placeholder="as it stands in the file"
          spellCheck={false}
          value={grep}
          onChange={({ target }) => setGrep(target.value)}
        />
        <button type="submit" className="button">
          Search below
        </button>
        {isSearch(route) ? (
          <button
            type="button"
            className="button"
            onClick={() => navigate({ ...route, glob: undefined, grep: undefined })}
          >
            Show the folder
          </button>
        ) : null}
      </form>
    </search>
  );
}
