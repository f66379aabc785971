import { canonical, digestOf, type Fact, type FactId, isPerson, type Json } from "../session/index.js";
import type { Store } from "../store/index.js";
import { type Checks, checkOptions, optional } from "../workflow/index.js";
import { listOf, oneOf } from "./checks.js";
import { refusing } from "./error.js";
import type { Scope } from "./scope.js";
import { SOURCES, type Source } from "./source.js";

/** The condition under which a held memory is recalled. */
export type Needs = "validation" | "approval";

export function isNeeds(value: unknown): value is Needs {
  return value === "validation" || value === "approval";
}

/** Which memories are held, and for what condition. */
export type Admission = {
  readonly needs: Needs;
  /** Only those whose evidence is not all trusted. Default: all. */
  readonly trust?: "untrusted";
  /** Only those with one of these sources. Default: all. */
  readonly sources?: readonly Source[];
};

/** The version that is to be released, perhaps in a wider scope. */
export type Admitting = {
  readonly needs: Needs;
  readonly space: string;
  readonly memory: FactId;
  readonly version: FactId;
  readonly to?: Scope | undefined;
};

/** The rules of a space. They are in its record and bind every writer. */
export type Rules = { readonly admit?: readonly Admission[] };

const CHECKS: Checks<Admission> = {
  needs: oneOf(["validation", "approval"]),
  trust: optional(oneOf(["untrusted"])),
  sources: optional(listOf(SOURCES)),
};
const EXAMPLE = 'admit: { needs: "approval", trust: "untrusted" }';

export function rulesOf(admit: Admission | readonly Admission[] | undefined, use: string): Rules {
  if (admit === undefined) return {};
  const all = Array.isArray(admit) ? (admit as readonly Admission[]) : [admit as Admission];
  const refuse = refusing(use);
  for (const one of all) checkOptions(one, CHECKS, refuse, EXAMPLE);
  return all.length === 0 ? {} : { admit: all };
}

/** As they stand in the record, read without trust: rules that cannot be read hold everything back. */
export function rulesIn(json: Json | undefined): Rules {
  if (json === undefined) return {};
  try {
    return rulesOf((json as { readonly admit?: readonly Admission[] }).admit, "read the rules of a space");
  } catch {
    return { admit: [{ needs: "approval" }] };
  }
}

/** The condition for a memory: the strictest of all the rules that apply to it. */
export function needsOf(
  rules: readonly Rules[],
  memory: { readonly source: Source; readonly trusted: boolean },
): Needs | undefined {
  const needs = rules
    .flatMap(({ admit = [] }) => admit)
    .filter(
      ({ trust, sources }) =>
        (trust === undefined || !memory.trusted) && (sources?.includes(memory.source) ?? true),
    )
    .map((one) => one.needs);
  return needs.includes("approval") ? "approval" : needs[0];
}

/** Throws unless the evidence is a passed validation of exactly this text, or a person's answer about it. */
export async function requireAdmission(
  store: Store,
  { needs, space, memory, version, to }: Admitting,
  evidence: ReadonlyMap<FactId, Fact>,
  use: string,
): Promise<void> {
  for (const fact of evidence.values()) {
    if (needs === "validation" && to === undefined && fact.type === "validation-report" && fact.passed)
      if (fact.of === version) return;
    if (fact.type === "approval-give" && fact.decision === "approve" && isPerson(fact.by)) {
      if (fact.edit !== undefined || !(await store.has(fact.of))) continue;
      const { fact: ask } = await store.load(fact.of, { horizon: 1 });
      if (ask.type !== "approval-ask" || ask.digest !== fact.digest) continue;
      const what = ask.what as { readonly [field: string]: Json };
      if (typeof what !== "object" || what === null || digestOf(canonical(what)) !== ask.digest) continue;
      const same = what.space === space && what.memory === memory && what.version === version;
      if (same && canonical(what.to ?? null) === canonical((to as Json | undefined) ?? null)) return;
    }
  }
  throw refusing(use, "held")(
    needs === "validation"
      ? "it waits for a validation of it that passed, and none is named"
      : "it waits for a person who was shown it and agreed, and no such word is named",
    needs === "validation"
      ? `because: [the id of { type: "validation-report", passed: true, of: "${version.slice(0, 12)}…" }]`
      : "ask with notes.review(session, memory), or name an approval of { space, memory, version }, and `to` for a wider scope",
    { memory, needs },
  );
}
