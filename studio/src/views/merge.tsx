import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { post } from "../client";
import { useOf } from "../data";
import { useAddress } from "../route";
import type { ConflictRow, Page } from "../types";
import { Button, count, Empty, Loaded, Trouble, visible } from "../ui";
import { Content } from "./content";
import { NAMES_ID, Names } from "./names";

type Choice = "ours" | "theirs" | { readonly text: string };

/** Brings another session or branch into this one; every conflict is decided by a person, in sight. */
export function Merge({ name }: { readonly name: string }): ReactNode {
  const { search, set, go } = useAddress();
  const theirs = search.b;
  const [choices, setChoices] = useState<{ readonly [path: string]: Choice }>({});
  const [as, setAs] = useState(`${name}-merged`);
  const conflicts = useOf<Page<ConflictRow>>(
    name,
    "/conflicts",
    { theirs },
    { enabled: theirs !== undefined },
  );
  const merge = useMutation({
    mutationFn: () =>
      post<{ name: string }>(`/api/sessions/${encodeURIComponent(name)}/merge`, {
        theirs,
        as,
        files: choices,
      }),
    onSuccess: (made) => go(`/s/${encodeURIComponent(made.name)}/graph`),
  });
  return (
    <div className="min-h-0 flex-1 overflow-y-auto p-4 mid:px-8">
      <form
        className="flex flex-wrap items-end gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          setChoices({});
          set({ b: String(new FormData(event.currentTarget).get("theirs") ?? "") });
        }}
      >
        <label className="min-w-[200px] flex-1">
          <span className="meta">Merge into {name}</span>
          <input
            name="theirs"
            className="field"
            placeholder="a session, NAME@branch, or an id"
            list={NAMES_ID}
            defaultValue={theirs ?? ""}
          />
          <Names />
        </label>
        <button type="submit" className="btn btn-main">
          Look for conflicts
        </button>
        <Button onClick={() => set({ tab: undefined, b: undefined })}>Back to the files</Button>
      </form>
      {theirs === undefined || theirs === "" ? (
        <Empty title="Choose what to merge">
          Name a session or branch above. The merge keeps both histories and takes files that only one side
          changed; where both sides changed the same lines, you decide.
        </Empty>
      ) : (
        <Loaded query={conflicts}>
          {({ items }) => {
            const left = items.filter(({ path }) => choices[path] === undefined).length;
            return (
              <>
                <h1 className="mt-6" role="status">
                  {items.length === 0
                    ? "No conflicts"
                    : left === 0
                      ? "Every conflict is decided"
                      : `${left} of ${count(items.length, "conflict")} left`}
                </h1>
                {items.map((conflict) => (
                  <One
                    key={conflict.path}
                    conflict={conflict}
                    choice={choices[conflict.path]}
                    choose={(choice) => setChoices({ ...choices, [conflict.path]: choice })}
                  />
                ))}
                <label className="mt-6 block max-w-[420px]">
                  <span className="meta">Name of the merged session</span>
                  <input className="field" value={as} onChange={(event) => setAs(event.target.value)} />
                </label>
                <p className="mt-3">
                  <Button
                    main
                    disabled={left > 0 || as === "" || merge.isPending}
                    onClick={() => merge.mutate()}
                  >
                    Merge
                  </Button>
                </p>
                {merge.error !== null && <Trouble error={merge.error} />}
              </>
            );
          }}
        </Loaded>
      )}
    </div>
  );
}

function One({
  conflict: { path, kind, ours, theirs, result },
  choice,
  choose,
}: {
  readonly conflict: ConflictRow;
  readonly choice: Choice | undefined;
  readonly choose: (choice: Choice) => void;
}): ReactNode {
  const sides = [
    ["ours", "Ours", ours],
    ["theirs", "Theirs", theirs],
  ] as const;
  const isText = typeof choice === "object";
  return (
    <section className="card mt-4 p-3" aria-label={path}>
      <h2 className="font-mono text-control!" dir="auto">
        {visible(path)} <span className="meta">{kind}</span>
      </h2>
      <div className="mt-2 grid gap-3 mid:grid-cols-2">
        {sides.map(([side, word, shown]) => (
          <div key={side} className="min-w-0">
            <Button pressed={choice === side} onClick={() => choose(side)}>
              Take {word.toLowerCase()}
            </Button>
            <div className="mt-2">
              {shown === undefined ? (
                <p className="text-soft">The file does not exist on this side.</p>
              ) : (
                <Content shown={shown} />
              )}
            </div>
          </div>
        ))}
      </div>
      {result !== undefined && (
        <div className="mt-3">
          <Button pressed={isText} onClick={() => choose({ text: result.text })}>
            Write it yourself
          </Button>
          {isText && (
            <textarea
              aria-label={`The text of ${path}`}
              rows={Math.min(24, choice.text.split("\n").length + 1)}
              className="field mt-2"
              value={choice.text}
              onChange={(event) => choose({ text: event.target.value })}
            />
          )}
        </div>
      )}
    </section>
  );
}
