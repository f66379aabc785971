import { useMutation } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { type ReactNode, useRef, useState } from "react";
import { post } from "../client";
import { useFact, useSession, useWho } from "../data";
import { useTitle } from "../frame";
import { useAddress } from "../route";
import type { RerunPlan, RerunRequest } from "../types";
import { Button, count, heading, JsonView, Loaded, money, plainly, Trouble, Words } from "../ui";
import { Links, Value } from "../value";

/** Continue from a fact with something changed: first the plan, then the act, which names the plan by its digest. */
export function Rerun(): ReactNode {
  const { fact: id = "" } = useParams({ strict: false }) as { fact?: string };
  useTitle("Rerun");
  const query = useFact(id);
  return (
    <Loaded query={query}>
      {(fact) => (
        <Change
          key={fact.id}
          id={fact.id}
          name={fact.name ?? fact.id}
          label={fact.row.label}
          fact={fact.fact}
        />
      )}
    </Loaded>
  );
}

type Kind = "instruction" | "input" | "answer";
const MEANINGS: { readonly [kind in Kind]: string } = {
  instruction: "A message to the next model call: what to do differently from here.",
  input: "Other arguments for this call, in JSON.",
  answer: "Another outcome of this call, in JSON, as if it had been recorded.",
};

function Change({
  id,
  name,
  label,
  fact,
}: {
  readonly id: string;
  readonly name: string;
  readonly label: string;
  readonly fact: { readonly type: string; readonly [field: string]: unknown };
}): ReactNode {
  const { go } = useAddress();
  const kinds: readonly Kind[] = fact.type.endsWith("-call")
    ? ["instruction", "input", "answer"]
    : fact.type.endsWith("-result") || fact.type.endsWith("-reply")
      ? ["instruction", "answer"]
      : ["instruction"];
  const original: { readonly [kind in Kind]: string } = {
    instruction: "",
    input: JSON.stringify(fact.input ?? null, null, 2),
    answer: JSON.stringify(fact.value ?? fact.content ?? fact.output ?? null, null, 2),
  };
  // The reason is read where the next instruction is written.
  const said = fact.detail ?? fact.content ?? fact.value ?? fact.output ?? fact.error;
  const kept = `rerun ${id}`;
  const [kind, setKind] = useState<Kind>("instruction");
  const [text, setText] = useState(() => localStorage.getItem(kept) ?? "");
  const [as, setAs] = useState(`${name}-again`);
  const [allowed, setAllowed] = useState<readonly string[]>([]);
  const modules = useWho().data?.modules ?? [];
  const [module, setModule] = useState<string>();
  const recorded = useSession(name).data?.module;
  // Other arguments or another outcome belong to the program that ran; an instruction may go to any.
  const own = modules.find((one) => one === recorded);
  const chosenModule = module ?? (kind === "instruction" ? modules[0] : own) ?? modules[0];
  const change = {
    from: id,
    name: as,
    ...(chosenModule !== undefined && { module: chosenModule }),
    [kind]: kind === "instruction" ? text : jsonOr(text),
  };
  const planned = useRef<HTMLElement>(null);
  const plan = useMutation({
    mutationFn: () => post<RerunPlan>(`/api/sessions/${encodeURIComponent(name)}/rerun/plan`, change),
    // On a phone the plan stands below the form.
    onSuccess: () => requestAnimationFrame(() => planned.current?.scrollIntoView({ block: "nearest" })),
  });
  const start = useMutation({
    mutationFn: (digest: string) =>
      post<{ name: string }>(`/api/sessions/${encodeURIComponent(name)}/rerun`, {
        ...change,
        digest,
        allowed,
      }),
    onSuccess: ({ name: made }) => {
      localStorage.removeItem(kept);
      go("/compare", { a: name, b: made });
    },
  });
  const edit = (value: string): void => {
    setText(value);
    plan.reset();
    // A draft outlives a reload; it is nothing that happened.
    localStorage.setItem(kept, value);
  };
  const found = plan.data;
  const mustTick = found?.writes ?? [];
  const doubts = found?.doubts ?? [];
  return (
    <div className="grid min-h-0 flex-1 content-start gap-6 overflow-y-auto p-4 mid:grid-cols-2 mid:p-6 wide:grid-cols-3">
      <section aria-label="From here">
        <h1>Rerun from here</h1>
        <p className="mt-2 font-serif text-read">
          <Words>{heading(label)}</Words>
        </p>
        <p className="meta mt-1">
          {fact.type} of <Words>{name}</Words>. The recorded run stays as it is.
        </p>
        {original[kind] !== "" && original[kind] !== "null" ? (
          <div className="listing mt-3 font-mono text-meta" tabIndex={0}>
            <JsonView value={jsonOr(original[kind])} />
          </div>
        ) : (
          said !== undefined && (
            <div className="listing mt-3" tabIndex={0}>
              <Links value={false}>
                <Value value={said} />
              </Links>
            </div>
          )
        )}
      </section>
      <section aria-label="What you change">
        <h2>What you change</h2>
        {kinds.length > 1 && (
          <div className="mt-2 flex flex-wrap gap-1">
            {kinds.map((one) => (
              <Button
                key={one}
                quiet
                pressed={kind === one}
                onClick={() => {
                  setKind(one);
                  edit(one === "instruction" ? "" : original[one]);
                }}
              >
                {one}
              </Button>
            ))}
          </div>
        )}
        <p className="meta mt-2">{MEANINGS[kind]}</p>
        <textarea
          aria-label={`The ${kind}`}
          rows={6}
          className="field mt-2"
          placeholder={
            kind === "instruction" ? "For example: Spread what is left over, one cent each." : "JSON"
          }
          value={text}
          onChange={(event) => edit(event.target.value)}
        />
        <label className="mt-2 block">
          <span className="meta">Name of the new session</span>
          <input className="field" value={as} onChange={(event) => setAs(event.target.value)} />
        </label>
        {modules.length === 0 && (
          <p className="mt-3 text-warn">
            The server has no programs to run. Start it with a file that exports them: rath studio --modules
            FILE
          </p>
        )}
        {modules.length > 1 && (
          <label className="mt-2 block">
            <span className="meta">Program</span>
            <select
              className="field"
              value={chosenModule}
              onChange={(event) => setModule(event.target.value)}
            >
              {modules.map((one) => (
                <option key={one}>{one}</option>
              ))}
            </select>
          </label>
        )}
        <p className="mt-3">
          <Button
            main={found === undefined}
            disabled={text === "" || modules.length === 0 || plan.isPending}
            {...(text === "" && { hint: "First write what should be different" })}
            onClick={() => plan.mutate()}
          >
            What would happen?
          </Button>
        </p>
        {plan.error !== null && <Trouble error={plan.error} />}
      </section>
      <section ref={planned} aria-label="Plan" className="mid:col-span-2 wide:col-span-1">
        <h2>Plan</h2>
        {found === undefined ? (
          <p className="mt-2 text-soft">
            Making a plan changes nothing. The plan lists the outcomes taken from the record, the real calls,
            and the requests to a person.
          </p>
        ) : (
          <>
            <p className="mt-2 font-serif text-read">
              <Words>{found.sentence}</Words>
            </p>
            {typeof found.cost === "number" && found.cost > 0 && (
              <p className="meta mt-1">about {money(found.cost)}</p>
            )}
            <Requests
              word={`${count(found.taken.length, "outcome")} taken from the record`}
              rows={found.taken}
            />
            <Requests word={count(found.real.length, "real call")} rows={found.real} />
            <Requests word={`${count(found.asks.length, "request")} to a person`} rows={found.asks} />
            {found.unknown && (
              <p className="mt-2 text-warn">The calls after the first difference are not known yet.</p>
            )}
            {doubts.length > 0 && (
              <p className="mt-2 text-warn">
                {count(doubts.length, "call")} of the record {doubts.length === 1 ? "is" : "are"} in doubt and
                must be settled first, in the inbox.
              </p>
            )}
            {mustTick.length > 0 && (
              <p className="mt-3 flex flex-wrap items-center gap-2">
                <span className="text-warn">
                  {mustTick.length === 1 ? "This write" : "These writes"} may happen again. Allow each one
                  that may:
                </span>
                {mustTick.length > 2 && (
                  <Button quiet onClick={() => setAllowed(mustTick.map((write) => write.id))}>
                    Allow all {mustTick.length}
                  </Button>
                )}
              </p>
            )}
            {mustTick.map((write) => (
              <label key={write.id} className="mt-2 flex items-center gap-2 text-warn">
                <input
                  type="checkbox"
                  checked={allowed.includes(write.id)}
                  onChange={(event) =>
                    setAllowed(
                      event.target.checked
                        ? [...allowed, write.id]
                        : allowed.filter((one) => one !== write.id),
                    )
                  }
                />
                <Words>{`${plainly(write.label)} (${write.effect ?? "write"}, ${write.place ?? "host"})`}</Words>
              </label>
            ))}
            <p className="mt-4">
              <Button
                main
                disabled={
                  start.isPending ||
                  doubts.length > 0 ||
                  mustTick.some((write) => !allowed.includes(write.id))
                }
                onClick={() => start.mutate(found.digest)}
              >
                Start it
              </Button>
            </p>
            {start.error !== null && <Trouble error={start.error} again={() => plan.mutate()} />}
          </>
        )}
      </section>
    </div>
  );
}

function Requests({
  word,
  rows,
}: {
  readonly word: string;
  readonly rows: readonly RerunRequest[];
}): ReactNode {
  if (rows.length === 0) return null;
  return (
    <details className="mt-2" open={rows.length < 8}>
      <summary className="cursor-pointer">{word}</summary>
      <ul className="pl-4 text-row text-soft">
        {rows.slice(0, 200).map((row) => (
          <li key={row.id}>
            <Words>{plainly(row.label)}</Words>
          </li>
        ))}
      </ul>
    </details>
  );
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
