import { canonical, type FactInput, type FactOf, type Json, type Principal } from "../../session/index.js";
import { digestOfModule, digestsOfModule, isDeep, isInside, type Module } from "../module.js";
import type { Budget } from "../request/request.js";

/** What a run begins with: which program it runs, in digests. */
export type StartFact = FactInput & { type: "run-start" };

export function startFactOf(run: {
  readonly nonce: string;
  readonly name: string;
  readonly module: Module;
  readonly budget?: Budget | undefined;
  readonly by?: Principal | undefined;
  readonly for?: Principal | undefined;
}): StartFact {
  const { nonce, name, module, budget, by } = run;
  const declared = digestsOfModule(module);
  const digests = {
    module: digestOfModule(module),
    ...(Object.keys(declared).length > 0 && { declared }),
    ...(budget !== undefined && { budget: { ...budget } }),
  };
  return {
    type: "run-start",
    nonce,
    module: module.name,
    name,
    digests,
    ...(by !== undefined && { by }),
    ...(run.for !== undefined && { for: run.for }),
  };
}

/** Whether a run was begun by the same program. */
export function isSameProgram(recorded: FactOf<"run-start">, now: StartFact): boolean {
  // What is declared one by one is in the digest of the module, and versions tell it in more or less detail.
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

/** What two programs declare differently, each by its full path. */
export function differing(recorded: FactOf<"run-start">, now: StartFact): readonly string[] {
  const [then, here] = [digestsIn(recorded), digestsIn(now)];
  const names = new Set([...Object.keys(then.declared ?? {}), ...Object.keys(here.declared ?? {})]);
  const all = [...names].filter((name) => {
    const [was, is] = [then.declared?.[name], here.declared?.[name]];
    // What is deep inside may be left out: where one side lacks it, the part around it is what differs.
    return was !== is && (!isDeep(name) || (was !== undefined && is !== undefined));
  });
  const differ = all.filter((name) => !all.some((other) => isInside(other, name)));
  if (canonical(then.budget ?? null) !== canonical(here.budget ?? null)) differ.push("the budget");
  return differ;
}
