import type { ReactNode } from "react";
import Renderer from "react-markdown";

/** Markdown of a model: without HTML, and nothing is loaded from anywhere. */
export default function Markdown({ text }: { readonly text: string }): ReactNode {
  if (text.length > 60_000) return <p className="whitespace-pre-wrap">{text}</p>;
  return (
    <Renderer
      components={{
        img: ({ src, alt }) => (
          <span className="meta">
            [image {alt ?? ""} from {hostOf(String(src ?? ""))}, not loaded]
          </span>
        ),
        a: ({ href, children }) => (
          <a href={href} target="_blank" rel="noreferrer noopener" title={href}>
            {children} <span className="meta">({hostOf(href ?? "")})</span>
          </a>
        ),
        pre: ({ children }) => (
          <pre tabIndex={0} className="listing text-row">
            {children}
          </pre>
        ),
      }}
    >
      {text}
    </Renderer>
  );
}

function hostOf(address: string): string {
  return URL.canParse(address) ? new URL(address).host : "here";
}
