import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { addressOf, offline, raw } from "../client";
import { verifyCopy } from "../copy";
import { useOf, useSession } from "../data";
import { Tabs, useTitle } from "../frame";
import { useAddress } from "../route";
import type { DossierSection } from "../types";
import { Ago, Button, Command, count, Id, JsonView, Loaded, State, Trouble, Words } from "../ui";
import { Value, wordsOf } from "../value";

/** The dossier section by section, and the proof of what it says. */
export function Evidence(): ReactNode {
  const { name, search, set } = useAddress();
  useTitle(`${name}: evidence`);
  const chosen = search.tab ?? "summary";
  const query = useOf<DossierSection>(name, `/dossier/${encodeURIComponent(chosen)}`);
  return (
    <>
      <Tabs name={name} />
      <div className="flex min-h-0 flex-1 flex-col overflow-y-auto mid:flex-row mid:overflow-hidden">
        {query.data !== undefined && (
          <nav
            aria-label="Sections"
            className="no-print flex shrink-0 gap-1 overflow-auto border-b border-rule p-2 mid:w-[204px] mid:flex-col mid:border-b-0 mid:border-r"
          >
            {query.data.sections.map(({ section, title }) => (
              <button
                key={section}
                type="button"
                aria-current={section === chosen ? "true" : undefined}
                className={`min-h-8 rounded px-3 text-left whitespace-nowrap ${section === chosen ? "bg-chosen font-semibold" : "hover:bg-sunk"}`}
                onClick={() => set({ tab: section })}
              >
                {title}
              </button>
            ))}
          </nav>
        )}
        <div className="flex min-w-0 flex-1 flex-col mid:overflow-y-auto wide:flex-row wide:overflow-hidden">
          <section
            aria-label={query.data?.title ?? "Dossier"}
            tabIndex={0}
            className="min-w-0 flex-1 p-4 mid:px-8 wide:overflow-y-auto"
          >
            <Loaded query={query}>
              {(found) => (
                <>
                  <h1>{found.title}</h1>
                  {found.section === "graph" ? (
                    <p className="mt-2 text-soft">
                      The dossier draws it for readers without a server. Here it is the{" "}
                      <Link to={"/s/$name/graph" as "/"} params={{ name } as never}>
                        graph
                      </Link>
                      .
                    </p>
                  ) : (
                    <Parts content={found.content} />
                  )}
                </>
              )}
            </Loaded>
          </section>
          {/* Verification and exports need no dossier: a session may be too long for one. */}
          <Proof name={name} />
        </div>
      </div>
    </>
  );
}

/** The parts of a section; one that has nothing says so. */
function Parts({ content }: { readonly content: DossierSection["content"] }): ReactNode {
  const parts = Object.entries(content);
  return parts.map(([part, value]) => (
    <div key={part} className="mt-4">
      {parts.length > 1 && <h2 className="mb-1 capitalize">{wordsOf(part)}</h2>}
      <Value value={value} />
    </div>
  ));
}

type Progress = {
  readonly checked?: number;
  readonly total?: number;
  readonly ok?: boolean;
  readonly problems?: readonly unknown[];
  readonly report?: { readonly signatures?: readonly Signature[] };
};
type Signature = {
  readonly of: string;
  readonly key: string;
  readonly by: string;
  readonly at: string;
  readonly verdict: "good" | "bad" | "unknown";
  readonly standing: "own" | "trusted" | "given" | "unknown";
};
const STANDINGS: { readonly [standing in Signature["standing"]]: string } = {
  own: "a key of this machine",
  trusted: "a key that this machine trusts",
  given: "a key that was given",
  unknown: "a key that this server does not know; rath verify checks it with the keys of your machine",
};

/** Verification with its progress, and the exports that others can check without us. */
function Proof({ name }: { readonly name: string }): ReactNode {
  const session = useSession(name);
  const [progress, setProgress] = useState<Progress>();
  const [stop, setStop] = useState<AbortController>();
  const [error, setError] = useState<unknown>();
  const base = `/api/sessions/${encodeURIComponent(name)}`;
  const verify = async (): Promise<void> => {
    const control = new AbortController();
    setStop(control);
    setError(undefined);
    setProgress({ checked: 0 });
    try {
      if (offline !== undefined) {
        for await (const step of verifyCopy(offline, session.data?.head ?? "")) setProgress(step);
        return;
      }
      const response = await raw(`${base}/verify`, {}, { signal: control.signal });
      for await (const line of linesOf(response))
        setProgress((old) => ({ ...old, ...(JSON.parse(line) as Progress) }));
    } catch (problem) {
      if (control.signal.aborted) setProgress(undefined);
      else setError(problem);
    } finally {
      setStop(undefined);
    }
  };
  return (
    <aside
      aria-label="Proof"
      className="order-first shrink-0 border-b border-rule bg-raised p-4 mid:px-8 wide:order-none wide:w-[300px] wide:overflow-y-auto wide:border-b-0 wide:border-l wide:px-4"
    >
      <h2>Proof</h2>
      {session.data !== undefined && (
        <p className="mt-1">
          <State state={session.data.state} />{" "}
          <span className="meta">{count(session.data.facts, "fact")}, head</span>{" "}
          <Id id={session.data.head} />
        </p>
      )}
      <p className="mt-2 text-row text-soft">
        The id of the head is the SHA-256 of its line, which names its parents: it covers the whole history.
      </p>
      <div className="mt-3 flex flex-wrap gap-2">
        {stop === undefined ? (
          <Button main onClick={() => void verify()}>
            Verify
          </Button>
        ) : (
          <Button onClick={() => stop.abort()}>Cancel</Button>
        )}
        {offline === undefined && (
          <>
            <a
              className="btn"
              href={addressOf(`${base}/export`, { format: "html" })}
              download
              title="A page to read and print, without scripts"
            >
              Export dossier
            </a>
            <a
              className="btn"
              href={addressOf(`${base}/export`, { format: "bundle" })}
              download
              title="The whole record, sealed: rath verify accepts it on any machine, and rath studio --bundle makes a page of it"
            >
              Export bundle
            </a>
            <a
              className="btn"
              href={addressOf(`${base}/export`, { format: "lines" })}
              download
              title="The record itself, one fact per line; rath import reads it"
            >
              Export record
            </a>
          </>
        )}
      </div>
      {progress !== undefined && (
        <p
          role="status"
          className={`mt-3 ${progress.ok === true ? "text-good" : progress.ok === false ? "text-bad" : ""}`}
        >
          {progress.ok === true ? "Intact: " : progress.ok === false ? "Not intact: " : "Verifying: "}
          {(progress.checked ?? 0).toLocaleString("en")}
          {progress.total === undefined ? "" : ` of ${progress.total.toLocaleString("en")}`} facts
        </p>
      )}
      {progress?.problems !== undefined && progress.problems.length > 0 && (
        <div className="listing mt-2 font-mono text-meta" tabIndex={0}>
          <JsonView value={progress.problems} />
        </div>
      )}
      {error !== undefined && <Trouble error={error} />}
      {progress?.ok === true && progress.report?.signatures !== undefined && (
        <Signatures all={progress.report.signatures} head={session.data?.head ?? ""} />
      )}
      {offline === undefined && <Terminals name={name} />}
    </aside>
  );
}

/** The signatures that the verification found, and how far each reaches. */
function Signatures({ all, head }: { readonly all: readonly Signature[]; readonly head: string }): ReactNode {
  if (all.length === 0) return <p className="mt-2 text-row text-soft">Nobody has signed this session yet.</p>;
  return (
    <ul className="mt-2">
      {all.map(({ of, key, by, at, verdict, standing }) => (
        <li key={`${of} ${key} ${at}`} className="border-t border-rule py-2 text-row">
          <span className={verdict === "good" ? "text-good" : verdict === "bad" ? "text-bad" : "text-warn"}>
            {verdict === "good" ? "● signed" : verdict === "bad" ? "× invalid signature" : "○ signed"}
          </span>{" "}
          by <Words>{by}</Words> with {key}, {STANDINGS[standing]}, <Ago at={at} />
          {of !== head && (
            <span className="meta block">
              It covers the record up to <Id id={of} />; later facts are not signed.
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Keys never leave their machine: a page shows what is typed where they are. */
function Terminals({ name }: { readonly name: string }): ReactNode {
  const word =
    /^[\w./@-]+$/.test(name) && !name.startsWith("-") ? name : `'${name.replaceAll("'", "'\\''")}'`;
  const file = `${name.replaceAll(/[^\w.-]+/g, "-")}.proof`;
  return (
    <details className="mt-4" open={matchMedia("(min-width: 1280px)").matches}>
      <summary className="cursor-pointer">Sign and prove</summary>
      <h3 className="mt-2">Sign</h3>
      <p className="text-row text-soft">
        A signature covers the newest fact, and so the whole history. Your key stays on your machine; "Verify"
        then shows the signature here.
      </p>
      <Command text={`rath sign ${word}`} />
      <h3 className="mt-4">Prove</h3>
      <p className="text-row text-soft">
        A checkpoint signs the set of facts that the store has today. The proof shows anybody, without the
        store, that this session was in it.
      </p>
      <Command text={`rath checkpoint && rath prove ${word} -o ${file}`} />
      <p className="meta mt-1">Before the first signature, create a key: rath key new NAME</p>
    </details>
  );
}

async function* linesOf(response: Response): AsyncGenerator<string> {
  if (response.body === null) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    const lines = (rest + (value ?? "")).split("\n");
    rest = done ? "" : (lines.pop() ?? "");
    for (const line of lines) if (line.trim() !== "") yield line;
    if (done) return;
  }
}
