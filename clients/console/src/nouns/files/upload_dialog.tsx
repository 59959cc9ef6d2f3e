/** Uploads files into a folder. A large one goes in parts, and goes on after an interruption. */

import { useId, useRef, useState } from "react";
import { VersionConflictError } from "threadkeep";
import { useApi } from "../../api/context.js";
import { counted } from "../../content/json_tree.js";
import { ActionForm, CheckField } from "../../parts/action_form.js";
import { Marked } from "../../parts/marked.js";
import { showToast } from "../../parts/toasts.js";
import { Size } from "../../parts/units.js";
import type { Spot } from "./spot.js";

interface Progress {
  name: string;
  sentBytes: number;
  totalBytes: number;
}

export function UploadDialog({ spot, close }: { spot: Spot; close: () => void }) {
  const { namespace } = spot;
  const [files, setFiles] = useState<readonly File[]>([]);
  const [replaces, setReplaces] = useState(false);
  const field = useId();
  const upload = useUpload(spot);
  return (
    <ActionForm
      title="Upload files"
      submit="Upload"
      needs={[
        { operation: "begin_upload", thing: { namespace } },
        { operation: "put_file_content", thing: { namespace, isNew: !replaces } },
      ]}
      isReady={files.length > 0}
      run={() => upload.send(files, replaces)}
      abort={upload.abort}
      onDone={(count) => {
        close();
        showToast({ text: `Uploaded ${counted(count, "file", "files")}.` });
      }}
      onError={(error) => {
        if (upload.isAborted()) {
          return <p role="alert">Stopped. Upload goes on with the parts that have not arrived.</p>;
        }
        return error instanceof VersionConflictError ? (
          <p role="alert" className="callout">
            <Marked text={upload.progress?.name ?? ""} /> is there already. Choose to replace it, or
            give your file another name.
          </p>
        ) : null;
      }}
      close={close}
    >
      <div className="field">
        <label htmlFor={field}>Files</label>
        <input
          id={field}
          type="file"
          multiple
          onChange={({ target }) => {
            upload.forget();
            setFiles([...(target.files ?? [])]);
          }}
        />
      </div>
      <p>
        They go into <Marked text={`${namespace.join(" / ")} ${spot.path}`} />
      </p>
      <CheckField
        label="Replace files that are there"
        isChecked={replaces}
        onChange={setReplaces}
      />
      {upload.progress ? <ProgressLine progress={upload.progress} /> : null}
    </ActionForm>
  );
}

function ProgressLine({ progress: { name, sentBytes, totalBytes } }: { progress: Progress }) {
  return (
    <div>
      <p>
        <Marked text={name} />: <Size bytes={sentBytes} /> of <Size bytes={totalBytes} />
      </p>
      <progress aria-label="Progress" value={sentBytes} max={Math.max(1, totalBytes)} />
    </div>
  );
}

/** Sends one file after the other. What has arrived is not sent again. */
function useUpload({ namespace, path: folder }: Spot) {
  const { client } = useApi();
  const [progress, setProgress] = useState<Progress>();
  const begun = useRef(new Map<File, string>());
  const done = useRef(new Set<File>());
  const running = useRef(new AbortController());
  const send = async (files: readonly File[], replaces: boolean) => {
    running.current = new AbortController();
    for (const file of files) {
      if (done.current.has(file)) continue;
      await client.uploads.send(namespace, `${folder}${file.name}`, file, {
        uploadId: begun.current.get(file),
        mediaType: file.type || undefined,
        ifVersion: replaces ? undefined : 0,
        signal: running.current.signal,
        onProgress: ({ uploadId, sentBytes, totalBytes }) => {
          if (uploadId !== undefined) begun.current.set(file, uploadId);
          setProgress({ name: file.name, sentBytes, totalBytes });
        },
      });
      done.current.add(file);
    }
    return files.length;
  };
  return {
    send,
    progress,
    abort: () => running.current.abort(),
    isAborted: () => running.current.signal.aborted,
    forget: () => {
      begun.current.clear();
      done.current.clear();
      setProgress(undefined);
    },
  };
}
