import type { ReactNode } from "react";
import { offline } from "../client";
import { type Fact, useFact } from "../data";
import { useKeys } from "../keys";
import { useAddress } from "../route";
import { Ago, Button, heading, Id, JsonView, Loaded, moment, Terminal, TONES, visible, Words } from "../ui";
import { Links, Value, wordsOf } from "../value";
import { PromptOf } from "./prompt";

/** One fact: what it says, what it carries, and the ways on from it. */
export function Details({ id, close }: { readonly id: string; readonly close: () => void }): ReactNode {
  const query = useFact(id);
  return (
    <aside
      aria-label="Details"
      className="fixed inset-0 z-20 flex flex-col overflow-y-auto bg-raised mid:inset-y-0 mid:left-auto mid:right-0 mid:w-[60%] mid:border-l mid:border-rule mid:shadow-xl wide:static wide:w-[400px] wide:shrink-0 wide:shadow-none"
    >
      <div className="sticky top-0 flex items-center justify-between border-b border-rule bg-raised px-4 py-2">
        <h2>Details</h2>
        <Button quiet onClick={close} hint="Close (Esc)">
          Close
        </Button>
      </div>
      <Loaded query={query}>{(fact) => <Body fact={fact} />}</Loaded>
    </aside>
  );
}

/** Fields that name another fact. */
const REFERENCES = new Set(["of", "from", "call", "config"]);
const STAMPS = new Set(["type", "at", "by", "run", "seq"]);

function Body({
  fact: { id, name: home, parents, children, row, fact },
}: {
  readonly fact: Fact;
}): ReactNode {
  const { name, set, go, search } = useAddress();
  const link = (other: string): ReactNode => (
    <button
      key={other}
      type="button"
      className="mr-2 text-accent underline"
      onClick={() => set({ at: other })}
    >
      <Id id={other} />
    </button>
  );
  useKeys({
    "[": () => parents[0] !== undefined && set({ at: parents[0] }),
    "]": () => children[0] !== undefined && set({ at: children[0] }),
  });
  const own = Object.entries(fact).filter(([field]) => !STAMPS.has(field));
  const output = typeof fact.output === "string" ? fact.output : undefined;
  return (
    <div className="p-4">
      <p className={`font-serif text-answer leading-snug ${TONES[row.tone] ?? ""}`}>
        <Words>{heading(row.label)}</Words>
      </p>
      {row.text !== undefined && row.text !== row.label && (
        <p className="mt-2 whitespace-pre-wrap">
          <Words>{row.text}</Words>
        </p>
      )}
      <p className="meta mt-2">
        {row.type} by <Words>{row.by}</Words>, {moment(row.at)} (<Ago at={row.at} />)
      </p>
      <p className="mt-3 flex flex-wrap gap-2">
        {offline === undefined && (
          <Button onClick={() => go(`/rerun/${id}`)} hint="Continue from here with another input (e)">
            Rerun from here
          </Button>
        )}
        <Button
          onClick={() => go("/compare", search.a === undefined ? { a: id } : { a: search.a, b: id })}
          hint="Mark this fact as A (m), then compare another with it (c)"
        >
          Compare
        </Button>
        {/^model-(call|reply|failure)$/.test(row.type) && (
          <PromptOf name={name || (home ?? "")} fact={typeof fact.of === "string" ? fact.of : id} />
        )}
        {offline === undefined && (
          <Button onClick={() => set({ head: id, at: id })} hint="Show everything as of this fact">
            As of here
          </Button>
        )}
        <Button onClick={() => void navigator.clipboard?.writeText(`${location.origin}/f/${id}`)}>
          Copy permanent link
        </Button>
      </p>
      {output !== undefined && (
        <pre tabIndex={0} className="listing mt-4">
          <Terminal text={output.slice(0, 20_000)} />
        </pre>
      )}
      <h3 className="mt-4">Content</h3>
      <dl>
        {own.map(([field, value]) => (
          <div key={field} className="border-b border-rule py-2 text-row">
            <dt className="meta">{wordsOf(visible(field))}</dt>
            <dd dir="auto">
              {REFERENCES.has(field) && typeof value === "string" ? (
                link(value)
              ) : (
                <Links value={false}>
                  <Value value={value} />
                </Links>
              )}
            </dd>
          </div>
        ))}
      </dl>
      <details className="mt-2">
        <summary className="cursor-pointer text-row text-soft">Recorded JSON</summary>
        <div className="listing mt-1 font-mono text-meta" tabIndex={0}>
          <JsonView value={fact} />
        </div>
      </details>
      <h3 className="mt-4">Position</h3>
      <dl className="mt-1 grid grid-cols-[auto_1fr] gap-x-4 gap-y-1 text-row">
        <dt className="text-soft">Parents</dt>
        <dd>{parents.length === 0 ? "no parent: the first fact" : parents.map(link)}</dd>
        <dt className="text-soft">Children</dt>
        <dd>{children.length === 0 ? "none: the newest fact" : children.map(link)}</dd>
        <dt className="text-soft">Id</dt>
        <dd>
          <Id id={id} long />
        </dd>
      </dl>
    </div>
  );
}
