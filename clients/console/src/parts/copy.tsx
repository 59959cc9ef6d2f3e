/** Copy and download: always the exact text or bytes, never what was cut for display. */

import { Check, Copy, Download } from "lucide-react";
import { useState } from "react";

const SHOWN_MS = 1_500;

export function CopyButton({ text, what }: { text: () => string; what: string }) {
  const [outcome, setOutcome] = useState<"" | "done" | "failed">("");
  const copy = async () => {
    setOutcome((await copied(text())) ? "done" : "failed");
    setTimeout(() => setOutcome(""), SHOWN_MS);
  };
  return (
    <button
      type="button"
      className="icon-button"
      onClick={() => void copy()}
      title={`Copy ${what}`}
    >
      {outcome === "done" ? <Check aria-hidden /> : <Copy aria-hidden />}
      <span className="visually-hidden">Copy {what}</span>
      <span role="status" className={outcome === "failed" ? "" : "visually-hidden"}>
        {outcome === "done" ? "Copied" : outcome === "failed" ? "The browser refused" : ""}
      </span>
    </button>
  );
}

async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without TLS a browser has no clipboard for pages but this old one.
    return copiedBySelection(text);
  }
}

function copiedBySelection(text: string): boolean {
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  return isCopied;
}

export function DownloadButton(given: { bytes: () => BlobPart; name: string; label?: string }) {
  return (
    <button type="button" className="button" onClick={() => download(given.bytes(), given.name)}>
      <Download aria-hidden /> {given.label ?? "Download"}
    </button>
  );
}

/** The type says that no browser is to show it. */
export function download(bytes: BlobPart, name: string): void {
  const address = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = address;
  link.download = safeName(name);
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}

/** A name that no file system takes for a path, and no reader for another one. */
export function safeName(name: string): string {
  const last = name.split("/").at(-1) ?? "";
  return last.replace(/[^\p{L}\p{N}._ -]/gu, "_").replace(/^\.+/, "_") || "file";
}
