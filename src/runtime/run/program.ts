import { canonical, type FactInput, type FactOf, type Json } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { digestOfModule, digestsOfModule, isDeep, isInside } from "../module.js";
import type { RunOptions } from "./options.js";

/** The first fact of a run: it identifies the program by digests. */
export type StartFact = FactInput & { type: "run-start" };

export function startFactOf(
  run: Pick<RunOptions, "nonce" | "name" | "module" | "budget" | "by" | "for">,
): StartFact {
  const { nonce, name, module, budget, by, for: behalf } = run;
  const declared = digestsOfModule(module);
  const digests = {
    module: digestOfModule(module),
    ...(Object.keys(declared).length > 0 && { declared }),
    ...(budget !== undefined && { budget: { ...budget } }),
  };
  return { type: "run-start", nonce, module: module.name, name, digests, ...defined({ by, for: behalf }) };
}

/** Whether a run was begun by the same program. */
export function isSameProgram(recorded: FactOf<"run-start">, now: StartFact): boolean {
  // The digest of the module covers the declarations, which versions list in more or less detail.
  const known = ({ module, budget }: Digests): string =>
    canonical({ module: module ?? null, budget: budget ?? null });
  return recorded.module === now.module && known(digestsIn(recorded)) === known(digestsIn(now));
}

type Digests = {
  readonly module?: Json;
  readonly declared?: { readonly [name: string]: string };
  readonly budget?: Json;
};

function digestsIn({ digests }: { readonly digests?: Json }): Digests {
  return Object(digests ?? {}) as Digests;
}

/** The paths at which two programs declare something different. */
export function differing(recorded: FactOf<"run-start">, now: StartFact): readonly string[] {
  const [then, here] = [digestsIn(recorded), digestsIn(now)];
  const names = new Set([...Object.keys(then.declared ?? {}), ...Object.keys(here.declared ?? {})]);
  const all = [...names].filter((name) => {
    const [was, is] = [then.declared?.[name], here.declared?.[name]];
    // Deep declarations may be left out: where one side lacks them, the part around them differs.
    return was !== is && (!isDeep(name) || (was !== undefined && is !== undefined));
  });
  const differ = all.filter((name) => !all.some((other) => isInside(other, name)));
  if (canonical(then.budget ?? null) !== canonical(here.budget ?? null)) differ.push("the budget");
  return differ;
}
