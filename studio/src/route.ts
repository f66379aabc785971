import { useNavigate, useParams, useSearch } from "@tanstack/react-router";

/** What stands in the address: everything that a link must bring back. */
export type Search = {
  /** The selected fact, shared by all panes. */
  readonly at?: string;
  /** Time travel: every pane answers as of this fact. Without it the page is live. */
  readonly head?: string;
  /** Level of the graph. */
  readonly z?: "run" | "turn" | "step" | "fact";
  /** Filter: failed, waiting, people, files. */
  readonly only?: string;
  readonly q?: string;
  readonly state?: string;
  readonly person?: string;
  readonly model?: string;
  readonly tool?: string;
  readonly a?: string;
  readonly b?: string;
  readonly tab?: string;
  readonly path?: string;
};

const NAMES = [
  "at",
  "head",
  "z",
  "only",
  "q",
  "state",
  "person",
  "model",
  "tool",
  "a",
  "b",
  "tab",
  "path",
] as const;
const LEVELS = ["run", "turn", "step", "fact"];

/** Unknown parameters and values of another shape are left out. */
export function searchOf(given: Record<string, unknown>): Search {
  const entries = NAMES.flatMap((name) => {
    const value = given[name];
    const text = typeof value === "string" ? value : typeof value === "number" ? String(value) : undefined;
    if (text === undefined || text === "" || text.length > 500) return [];
    return name === "z" && !LEVELS.includes(text) ? [] : [[name, text]];
  });
  return Object.fromEntries(entries) as Search;
}

export function useAddress(): {
  readonly search: Search;
  readonly name: string;
  /** Changes parameters of this address; undefined takes one out. */
  readonly set: (
    change: { readonly [Name in keyof Search]?: Search[Name] | undefined },
    replace?: boolean,
  ) => void;
  readonly go: (path: string, search?: Search) => void;
} {
  const navigate = useNavigate();
  const search = useSearch({ strict: false }) as Search;
  const { name = "" } = useParams({ strict: false }) as { name?: string };
  return {
    search,
    name,
    set: (change, replace = false) =>
      void navigate({
        to: ".",
        search: (old: Record<string, unknown>) => searchOf({ ...old, ...change }),
        replace,
      } as never),
    go: (path, given = {}) => void navigate({ to: path, search: given } as never),
  };
}
