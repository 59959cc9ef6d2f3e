/** A page as code: what is seen, in Python, TypeScript and curl. No credential is ever in it. */

import { Code } from "lucide-react";
import { useState } from "react";
import { useShortcut } from "../app/keyboard.js";
import { useOffered } from "../app/page_actions.js";
import { CopyButton } from "./copy.js";
import { Dialog } from "./dialog.js";
import { Tabs } from "./tabs.js";

/** Name and text of each. */
export type Samples = Record<string, string>;

export function CodeBlock({ text, what }: { text: string; what: string }) {
  return (
    <section className="code-block" aria-label={what}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: long lines are scrolled by keys */}
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
      <CopyButton text={() => text} what={what} />
    </section>
  );
}

export function CodeTabs({ samples, label }: { samples: Samples; label: string }) {
  const names = Object.keys(samples);
  const [chosen, setChosen] = useState(names[0] ?? "");
  return (
    <Tabs
      label={label}
      tabs={names.map((name) => ({ id: name, title: name }))}
      chosen={chosen}
      onChoose={setChosen}
    >
      <CodeBlock text={samples[chosen] ?? ""} what={`${chosen} code`} />
    </Tabs>
  );
}

export function ShowAsCode({ samples }: { samples: Samples }) {
  const [isOpen, setIsOpen] = useState(false);
  useShortcut(".", () => setIsOpen(true));
  useOffered([{ label: "Show as code", group: "This page", run: () => setIsOpen(true) }]);
  return (
    <>
      <button type="button" className="button" onClick={() => setIsOpen(true)}>
        <Code aria-hidden /> Show as code
      </button>
      {isOpen ? (
        <Dialog title="This page as code" onClose={() => setIsOpen(false)}>
          <p className="note">The key is taken from the variable THREADKEEP_API_KEY.</p>
          <CodeTabs samples={samples} label="Language" />
        </Dialog>
      ) : null}
    </>
  );
}
