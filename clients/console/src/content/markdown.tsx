/** Markdown of agents: no HTML, no images of other servers, links that say where they lead. Loaded when first needed. */

import type { ReactNode } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { Marked } from "../parts/marked.js";

const PLUGINS = [remarkGfm];

/** Only these leave the page, and only when a person follows them. */
export function safeAddress(address: string): string {
  try {
    const { protocol } = new URL(address);
    return ["http:", "https:", "mailto:"].includes(protocol) ? address : "";
  } catch {
    return "";
  }
}

function hostOf(address: string): string {
  const { host, pathname, protocol } = new URL(address);
  return protocol === "mailto:" ? pathname : host;
}

function Anchor({ href, children }: { href?: string | undefined; children?: ReactNode }) {
  if (!href || safeAddress(href) === "") return <span className="dead-link">{children}</span>;
  return (
    <>
      <a href={href} target="_blank" rel="noopener noreferrer">
        {children}
      </a>{" "}
      <span className="link-host">
        (<Marked text={hostOf(href)} />)
      </span>
    </>
  );
}

function Image({ alt, title }: { alt?: string | undefined; title?: string | undefined }) {
  return (
    <span className="image-placeholder">
      image, not loaded: <Marked text={alt || title || "without a text"} />{" "}
    </span>
  );
}

const COMPONENTS: Components = {
  a: ({ href, children }) => <Anchor href={href}>{children}</Anchor>,
  img: ({ src, alt, title }) => (
    <>
      <Image alt={alt} title={title} />
      {typeof src === "string" ? <code>{src}</code> : null}
    </>
  ),
  // A list of tasks shows boxes that nobody can tick.
  input: ({ checked }) => <span>{checked ? "☑" : "☐"}</span>,
  // Headings of a message are below those of the page.
  h1: ({ children }) => <p className="md-heading">{children}</p>,
  h2: ({ children }) => <p className="md-heading">{children}</p>,
  h3: ({ children }) => <p className="md-heading">{children}</p>,
  h4: ({ children }) => <p className="md-heading">{children}</p>,
  h5: ({ children }) => <p className="md-heading">{children}</p>,
  h6: ({ children }) => <p className="md-heading">{children}</p>,
  section: ({ children }) => <div>{children}</div>,
};

export default function Markdown({ text }: { text: string }) {
  return (
    <ReactMarkdown
      skipHtml
      remarkPlugins={PLUGINS}
      components={COMPONENTS}
      // Images keep their address: it is shown as a text, and never loaded.
      urlTransform={(address, name) => (name === "src" ? address : safeAddress(address))}
    >
      {text}
    </ReactMarkdown>
  );
}
