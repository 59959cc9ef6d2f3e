/** Copy and download: always the exact text or bytes, never what was cut for display. */

import { Check, Copy, Download } from "lucide-react";
import { useState } from "react";

const SHOWN_MS = 1_500;

type Outcome = "" | "done" | "refused" | "not loaded";

const SAID: Record<Outcome, string> = {
  "": "",
  done: "Copied",
  refused: "The browser refused",
  "not loaded": "It could not be loaded",
};

interface CopyGiven {
  /** It may have to be loaded first. */
  text: () => string | Promise<string>;
  what: string;
  /** Whether the button says what it copies; else it is a small picture. */
  isLabelled?: boolean;
}

export function CopyButton({ text, what, isLabelled = false }: CopyGiven) {
  const [outcome, setOutcome] = useState<Outcome>("");
  const copy = async () => {
    setOutcome(await copyOf(text));
    setTimeout(() => setOutcome(""), SHOWN_MS);
  };
  return (
    <button
      type="button"
      className={isLabelled ? "button" : "icon-button"}
      onClick={() => void copy()}
      title={`Copy ${what}`}
    >
      {outcome === "done" ? <Check aria-hidden /> : <Copy aria-hidden />}
      <span className={isLabelled ? "" : "visually-hidden"}>Copy {what}</span>
      <span role="status" className={outcome === "done" ? "visually-hidden" : ""}>
        {SAID[outcome]}
      </span>
    </button>
  );
}

async function copyOf(text: () => string | Promise<string>): Promise<Outcome> {
  try {
    return (await copied(await text())) ? "done" : "refused";
  } catch {
    return "not loaded";
  }
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

interface DownloadGiven {
  /** They may have to be loaded first. */
  bytes: () => BlobPart | Promise<BlobPart>;
  name: string;
  label?: string;
}

export function DownloadButton({ bytes, name, label = "Download" }: DownloadGiven) {
  const [hasFailed, setHasFailed] = useState(false);
  const load = async () => {
    try {
      download(await bytes(), name);
      setHasFailed(false);
    } catch {
      setHasFailed(true);
    }
  };
  return (
    <>
      <button type="button" className="button" onClick={() => void load()}>
        <Download aria-hidden /> {label}
      </button>
      <span role="status">{hasFailed ? SAID["not loaded"] : ""}</span>
    </>
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
