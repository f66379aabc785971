import type { Digest, FactOf, PathChange } from "../../session/index.js";
import type { Change, Listed } from "./dossier.js";
import { Sample } from "./sample.js";
import { itemOf, type Seen } from "./seen.js";
import { isObject, type Words } from "./words.js";

/** A change of files whose diff is still to be made. */
export type ChangeDraft = Omit<Change, "files"> & { readonly paths: readonly PathChange[] };

/** What happened to the files. */
export class Changes {
  readonly #words: Words;
  readonly #sample: Sample<ChangeDraft>;
  #first: { readonly tree: Digest | null; readonly fact: string } | undefined;
  readonly #changed = new Set<string>();

  constructor(most: number, words: Words) {
    this.#words = words;
    this.#sample = new Sample(most);
  }

  see(seen: Seen, tool: string | undefined): void {
    const { id, fact, elsewhere } = seen;
    if (fact.type === "session-detach" && fact.tree !== undefined && !elsewhere)
      this.#first ??= { tree: fact.tree, fact: id };
    const draft = this.#draft(seen);
    if (draft === undefined) return;
    if (!elsewhere) this.#first ??= { tree: draft.kind === "import" ? draft.after : draft.before, fact: id };
    if (draft.kind === "change") for (const { path } of draft.paths) this.#changed.add(path);
    this.#sample.add({ ...draft, ...(tool !== undefined && { tool }) });
  }

  /** How many different files were changed. */
  get files(): number {
    return this.#changed.size;
  }

  /** The files as they were when they came. */
  get first(): { readonly tree: Digest | null; readonly fact: string } | undefined {
    return this.#first;
  }

  listed(): Listed<ChangeDraft> {
    return this.#sample.listed();
  }

  #draft(seen: Seen): ChangeDraft | undefined {
    const { fact } = seen;
    const words = this.#words;
    const of = "of" in fact && typeof fact.of === "string" ? { of: fact.of } : {};
    switch (fact.type) {
      case "workspace-import":
        return {
          ...itemOf(seen),
          ...of,
          kind: "import",
          before: null,
          after: fact.after,
          paths: [],
          source: words.tell(fact.source),
        };
      case "workspace-change":
        return {
          ...itemOf(seen),
          ...of,
          kind: "change",
          before: fact.before,
          after: fact.after,
          paths: pathsOf(fact.paths),
        };
      case "workspace-merge":
        return {
          ...itemOf(seen),
          ...of,
          kind: "merge",
          before: fact.ours,
          after: fact.after,
          paths: pathsOf(fact.paths),
          ...(conflicted(fact) && { conflicts: words.tell(fact.conflicts) }),
        };
      case "workspace-resolve": {
        const why = words.maybe(fact.why);
        return {
          ...itemOf(seen),
          ...of,
          kind: "resolve",
          before: null,
          after: fact.after,
          paths: pathsOf(fact.paths),
          conflicts: words.tell(fact.choices),
          ...(why !== undefined && { why }),
        };
      }
      default:
        return undefined;
    }
  }
}

function conflicted({ conflicts }: FactOf<"workspace-merge">): boolean {
  return !Array.isArray(conflicts) || conflicts.length > 0;
}

/** The paths that a fact names, whatever a garbage record has there. */
function pathsOf(paths: unknown): readonly PathChange[] {
  return (Array.isArray(paths) ? paths : []).filter(
    (one): one is PathChange => isObject(one) && typeof one.path === "string",
  );
}
