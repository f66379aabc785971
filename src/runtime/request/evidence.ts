import type { Digest, FactInput } from "../../session/index.js";

const TYPES = [
  "sandbox-open",
  "sandbox-suspend",
  "sandbox-resume",
  "sandbox-lose",
  "sandbox-close",
  "command-run",
  "workspace-import",
  "workspace-read",
  "workspace-change",
  "workspace-merge",
  "workspace-resolve",
  "validation-report",
  "memory-read",
  "note",
] as const satisfies readonly FactInput["type"][];

/** Evidence that an effect may record before its outcome: events of a sandbox, findings and recalled memories. */
export type Evidence = Extract<FactInput, { readonly type: (typeof TYPES)[number] }>;

export const EVIDENCE: ReadonlySet<string> = new Set(TYPES);

/** Of an attempt that is repeated, or of which nobody knows how it ended: its files are not those that go on. */
export function withoutFiles(evidence: readonly Evidence[]): readonly Evidence[] {
  return evidence.filter(({ type }) => type !== "workspace-change");
}

/** The evidence of a finished effect that is used again: its sandbox belongs to another run. */
export function saidAgain(evidence: readonly Evidence[]): readonly Evidence[] {
  return evidence.filter(({ type }) => !type.startsWith("sandbox-"));
}

/** The tree that an effect with this evidence began with; undefined when it had nothing to do with files. */
export function beganWith(evidence: readonly Evidence[]): Digest | null | undefined {
  for (const fact of evidence) {
    if (fact.type === "workspace-change") return fact.before;
    if (fact.type === "workspace-merge") return fact.ours;
    if (fact.type === "workspace-read") return fact.tree;
    if (fact.type === "workspace-import") return null;
  }
  return undefined;
}

/** The files before and after an effect. Undefined when it changed none. */
export function changeOf(
  evidence: readonly Evidence[],
): { readonly base: Digest | null; readonly after: Digest } | undefined {
  let change: { base: Digest | null; after: Digest } | undefined;
  for (const fact of evidence) {
    if (fact.type === "workspace-import") change = { base: fact.after, after: fact.after };
    else if (fact.type === "workspace-change" || fact.type === "workspace-merge")
      change = {
        base: change?.base ?? (fact.type === "workspace-change" ? fact.before : fact.ours),
        after: fact.after,
      };
  }
  return change;
}

/** The same evidence, with what it did to the files brought to others than those it went out from. */
export function rebased(evidence: readonly Evidence[], merge: Evidence): readonly Evidence[] {
  return [...evidence.filter(({ type }) => !MOVES_FILES.has(type)), merge];
}

const MOVES_FILES: ReadonlySet<string> = new Set(["workspace-import", "workspace-change", "workspace-merge"]);
