import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { post } from "../client";
import { usePending, useWho } from "../data";
import { useTitle } from "../frame";
import { useKeys } from "../keys";
import { NotifyMe, whatOf } from "../news";
import { useAddress } from "../route";
import type { PendingRow } from "../types";
import { Ago, Button, Empty, Id, JsonView, Loaded, Trouble, visible, Words } from "../ui";

/** Nobody answers what has just appeared under the cursor or the key. */
const SETTLING = 400;

/** Everything that waits for a person: shown as it will be executed, answered by its digest. */
export function Inbox(): ReactNode {
  useTitle("Inbox");
  const { search, set } = useAddress();
  const who = useWho().data?.principal;
  const query = usePending();
  const [done, setDone] = useState<Recorded>();
  return (
    <Loaded query={query}>
      {({ items }) => {
        const open = items.filter(({ answered, request }) => !answered && request !== done?.request);
        const said = done !== undefined && <Said done={done} />;
        if (open.length === 0)
          return (
            <>
              {said}
              <Empty title="Nothing waits for you">
                When a run asks a person, the question appears here automatically.
                <p className="mt-4">
                  <NotifyMe />
                </p>
              </Empty>
            </>
          );
        const mine = open.filter(
          (row) => row.may && (row.of.length === 0 || who === undefined || row.of.includes(who)),
        );
        const others = open.filter((row) => !mine.includes(row));
        const ordered = [...mine.toSorted(byDeadline), ...others.toSorted(byDeadline)];
        const chosen =
          ordered.find(({ request }) => request === search.at) ??
          (search.at === undefined ? ordered[0] : undefined);
        return (
          <>
            {said}
            <div className="flex min-h-0 flex-1 flex-col mid:flex-row">
              <nav
                aria-label="Questions"
                className={`shrink-0 overflow-y-auto border-rule mid:block mid:w-[320px] mid:border-r ${search.at === undefined ? "" : "hidden"}`}
              >
                <h1 className="px-4 pt-3 pb-2">Waiting for you ({mine.length})</h1>
                <Questions rows={mine} chosen={chosen} set={set} />
                {others.length > 0 && (
                  <h2 className="px-4 pt-6 pb-2">Waiting for others ({others.length})</h2>
                )}
                <Questions rows={others} chosen={chosen} set={set} />
                <p className="px-4 py-3">
                  <NotifyMe />
                </p>
              </nav>
              {chosen === undefined ? (
                <Empty title="This question was answered">Its session shows the answer.</Empty>
              ) : (
                <div
                  className={`min-w-0 flex-1 overflow-y-auto ${search.at === undefined ? "hidden mid:block" : ""}`}
                >
                  <p className="px-4 pt-2 mid:hidden">
                    <Button quiet onClick={() => set({ at: undefined })}>
                      Back
                    </Button>
                  </p>
                  <Question
                    key={`${chosen.request} ${chosen.digest ?? ""}`}
                    row={chosen}
                    onDone={(recorded) => {
                      setDone(recorded);
                      set({ at: undefined });
                    }}
                  />
                </div>
              )}
            </div>
          </>
        );
      }}
    </Loaded>
  );
}

type Recorded = {
  readonly request: string;
  readonly name: string;
  readonly id: string;
  readonly resumed: boolean;
};

/** An answer that the server has recorded, and what came of it. */
function Said({ done: { name, id, resumed } }: { readonly done: Recorded }): ReactNode {
  const { go } = useAddress();
  return (
    <p
      role="status"
      className="flex flex-wrap items-center gap-2 border-b border-rule border-l-4 border-l-good bg-raised px-4 py-2"
    >
      <span>
        Your answer is recorded as <Id id={id} />.{" "}
        {resumed
          ? "The run continues."
          : "To continue the run, type rath resume, or start a server that has its program."}
      </span>
      <Button onClick={() => go(`/s/${encodeURIComponent(name)}/turns`)}>Watch {name}</Button>
    </p>
  );
}

function byDeadline(one: PendingRow, other: PendingRow): number {
  const time = ({ deadline, since }: PendingRow): number =>
    Number(new Date(deadline ?? since)) + (deadline === undefined ? 1e15 : 0);
  return time(one) - time(other);
}

function Questions({
  rows,
  chosen,
  set,
}: {
  readonly rows: readonly PendingRow[];
  readonly chosen: PendingRow | undefined;
  readonly set: ReturnType<typeof useAddress>["set"];
}): ReactNode {
  return (
    <ul>
      {rows.map((row) => (
        <li key={row.request}>
          <button
            type="button"
            aria-current={row === chosen ? "true" : undefined}
            className={`block w-full border-b border-rule px-4 py-3 text-left ${row === chosen ? "bg-chosen" : "hover:bg-sunk"}`}
            onClick={() => set({ at: row.request })}
          >
            <span className="flex items-baseline gap-2">
              <Words className="truncate font-semibold">{row.name}</Words>
              <span className="tag text-warn">{row.kind}</span>
              <span className="flex-1" />
              <span className="meta">
                <Ago at={row.since} />
              </span>
            </span>
            <Words className="block truncate text-row">{whatOf(row)}</Words>
          </button>
        </li>
      ))}
    </ul>
  );
}

type Act = "approve" | "reject" | "edit" | "answer" | "settle";

/** One question: what exactly will happen, and the ways to answer it. */
function Question({
  row,
  onDone,
}: {
  readonly row: PendingRow;
  readonly onDone: (recorded: Recorded) => void;
}): ReactNode {
  const { go } = useAddress();
  const queries = useQueryClient();
  const card = useRef<HTMLElement>(null);
  const [isSettled, setSettled] = useState(false);
  const [why, setWhy] = useState("");
  const [edited, setEdited] = useState<string>();
  const input = JSON.stringify(inputOf(row) ?? null, null, 2);
  useEffect(() => {
    card.current?.focus({ preventScroll: true });
    const timer = setTimeout(() => setSettled(true), SETTLING);
    return () => clearTimeout(timer);
  }, []);
  const act = useMutation({
    mutationFn: ({ kind, value }: { kind: Act; value?: unknown }) =>
      post<{ id: string; resumed: boolean }>(
        `/api/sessions/${encodeURIComponent(row.name)}/${kind}`,
        answerOf(row, kind, value, why),
      ),
    onSuccess: (answer) => {
      onDone({ ...answer, request: row.request, name: row.name });
      void queries.invalidateQueries();
    },
  });
  const can = isSettled && row.may && !act.isPending && !act.isSuccess;
  const isQuestion = row.kind === "question" || row.kind === "signal";
  const isDoubt = row.kind === "doubt";
  const pressed = (run: () => void) => (event: KeyboardEvent) => {
    // A key that is held down answers nothing, and neither does one pressed elsewhere on the page.
    if (can && !event.repeat && card.current?.contains(document.activeElement)) run();
  };
  useKeys({
    a: pressed(() => !isDoubt && act.mutate({ kind: "approve" })),
    r: pressed(() => !isDoubt && act.mutate({ kind: "reject" })),
    e: pressed(() => !isDoubt && setEdited(input)),
    s: pressed(() => card.current?.querySelector<HTMLElement>("[data-settle] button")?.focus()),
  });
  return (
    <section
      ref={card}
      tabIndex={-1}
      aria-label={row.what}
      className="mx-auto max-w-[88ch] p-4 outline-none mid:p-8"
    >
      <h1>
        <Words>{visible(row.what)}</Words>
      </h1>
      <p className="meta mt-1">
        <button
          type="button"
          className="text-accent underline"
          onClick={() => go(`/s/${encodeURIComponent(row.name)}/graph`, { at: row.request })}
        >
          {row.name}
        </button>
        , {row.of.length === 0 ? "anybody may answer" : `for ${row.of.join(", ")}`}, asked{" "}
        <Ago at={row.since} />
        {row.deadline !== undefined && (
          <>
            , until <time dateTime={row.deadline}>{new Date(row.deadline).toLocaleString("en-GB")}</time>
          </>
        )}
      </p>
      <h2 className="mt-4">
        {isQuestion
          ? "The question"
          : edited === undefined
            ? "Exactly this will happen"
            : "This will happen instead of the proposal"}
      </h2>
      <div className="listing mt-1 font-mono text-meta" tabIndex={0} data-exact>
        {edited === undefined ? (
          <JsonView value={row.input ?? null} />
        ) : (
          <Difference before={readable(input)} after={readable(edited)} />
        )}
      </div>
      {row.digest !== undefined && (
        <p className="meta mt-1">
          {edited === undefined
            ? "Your answer covers exactly this: digest "
            : "Your change is recorded beside the proposal: digest "}
          <code title={row.digest}>{row.digest.slice(0, 16)}</code>
        </p>
      )}
      {row.why !== undefined && (
        <p className="mt-2">
          Asked because: <Words>{row.why}</Words>
          {row.rule !== undefined && <span className="meta"> (rule {row.rule})</span>}
        </p>
      )}
      {row.problem !== undefined && (
        <p className="mt-2 text-warn">
          Asked again: <Words>{row.problem}</Words>
        </p>
      )}
      {row.changed !== undefined && (
        <div className="mt-2 text-row text-warn">
          A person changed the arguments. The person and the original arguments:{" "}
          <JsonView value={row.changed} />
        </div>
      )}
      {isDoubt && (
        <p className="mt-2 text-warn">
          The call started, and its outcome is unknown. Check the external system before you answer.
        </p>
      )}
      {!row.may && (
        <p className="mt-3 text-warn">You may read this request; answering needs the role approve.</p>
      )}
      <div className="mt-4">
        {edited !== undefined && <Editor json={edited} set={setEdited} />}
        <input
          className="field mb-3"
          aria-label={isQuestion ? "Your answer" : "Reason"}
          placeholder={isQuestion ? "Your answer" : "Reason, for the record"}
          value={why}
          onChange={(event) => setWhy(event.target.value)}
        />
        <div className="flex flex-wrap gap-2" data-settle={isDoubt ? "" : undefined}>
          {isDoubt ? (
            (
              [
                ["done", "It happened"],
                ["failed", "It did not happen"],
                ["again", "Do it again"],
              ] as const
            ).map(([outcome, word]) => (
              <Button
                key={outcome}
                disabled={!can}
                onClick={() => act.mutate({ kind: "settle", value: outcome })}
              >
                {word}
              </Button>
            ))
          ) : isQuestion ? (
            <Button
              main
              disabled={!can || why === ""}
              onClick={() => act.mutate({ kind: "answer", value: parsed(why) })}
            >
              Answer
            </Button>
          ) : edited === undefined ? (
            <>
              <Button main disabled={!can} hint="a" onClick={() => act.mutate({ kind: "approve" })}>
                Approve
              </Button>
              <Button disabled={!can} hint="e" onClick={() => setEdited(input)}>
                Edit
              </Button>
              <Button disabled={!can} hint="r" onClick={() => act.mutate({ kind: "reject" })}>
                Reject
              </Button>
            </>
          ) : (
            <>
              <Button
                main
                disabled={!can || !isJson(edited)}
                {...(!isJson(edited) && { hint: "The arguments must be JSON" })}
                onClick={() => act.mutate({ kind: "edit", value: JSON.parse(edited) })}
              >
                Approve as edited
              </Button>
              <Button onClick={() => setEdited(undefined)}>Discard the changes</Button>
            </>
          )}
        </div>
      </div>
      {act.error !== null && (
        <Trouble error={act.error} again={() => void queries.invalidateQueries({ queryKey: ["pending"] })} />
      )}
    </section>
  );
}

function answerOf(
  row: PendingRow,
  kind: Act,
  value: unknown,
  why: string,
): { readonly [field: string]: unknown } {
  const base = {
    request: row.request,
    ...(row.digest !== undefined && { digest: row.digest }),
    ...(why !== "" && kind !== "answer" && { why }),
  };
  if (kind === "edit") return { ...base, input: value };
  if (kind === "answer") return { ...base, value };
  return kind === "settle" ? { ...base, outcome: value } : base;
}

/** The arguments of the call, which a person may change; a question has what is asked instead. */
function inputOf({ input }: PendingRow): unknown {
  return typeof input === "object" && input !== null && "input" in input ? input.input : input;
}

/** The fields of arguments that are texts only: these are edited as texts, and not as JSON. */
function textsIn(json: string): readonly (readonly [field: string, text: string])[] | undefined {
  const value: unknown = isJson(json) ? JSON.parse(json) : undefined;
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const fields = Object.entries(value);
  return fields.length > 0 && fields.every(([, one]) => typeof one === "string") ? fields : undefined;
}

function readable(json: string): string {
  return (
    textsIn(json)
      ?.map(([field, text]) => `${field}: ${text}`)
      .join("\n") ?? json
  );
}

/** Other arguments for a call: a field for each text, or JSON. */
function Editor({ json, set }: { readonly json: string; readonly set: (json: string) => void }): ReactNode {
  const texts = textsIn(json);
  const rowsFor = (text: string): number => Math.min(20, text.split("\n").length + text.length / 120);
  if (texts === undefined)
    return (
      <textarea
        aria-label="Changed input"
        rows={Math.max(4, rowsFor(json))}
        className="field mb-3"
        value={json}
        onChange={(event) => set(event.target.value)}
      />
    );
  return texts.map(([field, text]) => (
    <label key={field} className="mb-3 block">
      <span className="meta">{visible(field)}</span>
      <textarea
        aria-label={visible(field)}
        rows={rowsFor(text)}
        className="field"
        value={text}
        onChange={(event) =>
          set(JSON.stringify({ ...Object.fromEntries(texts), [field]: event.target.value }, null, 2))
        }
      />
    </label>
  ));
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** JSON where it is JSON, and text where it is not. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text.trimStart().startsWith("{") ? undefined : text;
  }
}

/** What was proposed against what the person made of it, line by line. */
function Difference({ before, after }: { readonly before: string; readonly after: string }): ReactNode {
  const [old, now] = [before.split("\n"), after.split("\n")];
  return (
    <>
      {old.map((line, at) => (
        <div key={`-${at}`} className={now.includes(line) ? "" : "bg-del"}>
          {now.includes(line) ? "  " : "- "}
          {visible(line)}
        </div>
      ))}
      {now
        .filter((line) => !old.includes(line))
        .map((line, at) => (
          <div key={`+${at}`} className="bg-add">
            + {visible(line)}
          </div>
        ))}
    </>
  );
}
