import { canonical, type FactInput, type FactOf, type Json, type Principal } from "../session/index.js";
import { digestOfModule, digestsOfModule, type Module } from "./module.js";
import type { Budget } from "./request.js";

/** What a run begins with: which program it runs, in digests. */
export type StartFact = FactInput & { type: "run-start" };

export function startFactOf(run: {
  readonly nonce: string;
  readonly name: string;
  readonly module: Module;
  readonly budget?: Budget | undefined;
  readonly by?: Principal | undefined;
}): StartFact {
  const { nonce, name, module, budget, by } = run;
  const declared = digestsOfModule(module);
  const digests = {
    module: digestOfModule(module),
    ...(Object.keys(declared).length > 0 && { declared }),
    ...(budget !== undefined && { budget: { ...budget } }),
  };
  return { type: "run-start", nonce, module: module.name, name, digests, ...(by !== undefined && { by }) };
}

/** Whether a run was begun by the same program. */
export function isSameProgram(recorded: FactOf<"run-start">, now: StartFact): boolean {
  return (
    recorded.module === now.module && canonical(recorded.digests ?? null) === canonical(now.digests ?? null)
  );
}

/** What two programs declare differently. */
export function differing(recorded: FactOf<"run-start">, now: StartFact): readonly string[] {
  type Digests = { readonly declared?: { readonly [name: string]: string }; readonly budget?: Json };
  const [then, here] = [recorded.digests ?? {}, now.digests ?? {}] as readonly [Digests, Digests];
  const names = new Set([...Object.keys(then.declared ?? {}), ...Object.keys(here.declared ?? {})]);
  const differ = [...names].filter((name) => then.declared?.[name] !== here.declared?.[name]);
  if (canonical(then.budget ?? null) !== canonical(here.budget ?? null)) differ.push("the budget");
  return differ;
}
