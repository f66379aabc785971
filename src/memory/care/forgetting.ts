import { forward, hostServices, type Module } from "../../runtime/index.js";
import type { Json } from "../../session/index.js";
import { defined, optionNames } from "../../util/index.js";
import {
  called,
  type Rebuilds,
  rebuild,
  refusing,
  requireName,
  requireOptions,
  type StepContext,
  step,
} from "../../workflow/index.js";
import type { MemorySpace } from "../memory.js";
import { isWider } from "../scope.js";
import type { Memory } from "../state.js";
import { expire, type ForgettingOptions, type Forgotten, forgettable, ruleOf } from "./forget.js";

export type ForgettingModuleOptions = ForgettingOptions & { readonly memory: MemorySpace };

const KNOWN = optionNames<ForgettingModuleOptions>()(
  "memory olderThan importanceBelow unreadFor keep most halfLife scope limit",
);
/** Memories of one step: what is done is on the record as it goes. */
const AT_ONCE = 100;

/**
 * A module that lets memories be forgotten, through the door: what is to be forgotten, and why, is on the record before
 * anything is done, and that is the evidence for it.
 *
 * ```ts
 * const nightly = forgetting("nightly", { memory: notes, unreadFor: 90 * 24 * 3_600_000, importanceBelow: 3 });
 * ```
 */
export function forgetting(name: string, options: ForgettingModuleOptions): Module & Rebuilds {
  requireName(name, "forgetting", 'forgetting("nightly", { memory: notes, most: 10_000 })');
  const refuse = refusing(called("forgetting", name));
  requireOptions(options, refuse, "{ memory: notes, most: 10_000 }", KNOWN);
  const { memory, ...given } = options;
  if (typeof memory?.open !== "function")
    throw refuse("it does not say which memory", 'memory: memory({ name: "notes", scope: "project:rath" })');
  const rule = ruleOf(given);
  const { keep: _, ...state } = rule;
  const look = step(
    `look for what ${memory.name} can forget`,
    async (_settings: Json, context: StepContext) => {
      const { request, signal, emit } = context;
      const progress = (count: number, total: number | undefined): void =>
        emit({ done: count, ...defined({ total }) });
      const now = hostServices(request).time();
      const space = memory.open(await context.store());
      // What is kept for more than where this runs is not its to forget.
      const keep = (one: Memory): boolean => isWider(one.scope, memory.scope) || rule.keep?.(one) === true;
      return { now, ...(await forgettable(space, { ...rule, keep }, now, { signal, progress })) };
    },
    { effect: "read", origin: "input" },
  );
  const act = step(
    `forget in ${memory.name}`,
    async (plan: readonly Forgotten[], context: StepContext) => {
      const { request, signal } = context;
      const space = memory.open(await context.store());
      await space.store.save(request);
      for (const one of plan) {
        signal.throwIfAborted();
        await expire(space, one, { by: "runtime", because: [request.id] });
      }
      return plan.length;
    },
    { effect: "idempotent", origin: "input" },
  );
  const made: Module & Rebuilds = {
    name,
    kind: "forgetting",
    state: Object.freeze({ memory: memory.name, ...state } as { readonly [field: string]: Json }),
    forward: (entered) =>
      forward(made, entered, async (session) => {
        let { session: now, value } = await look.call(session, state);
        const plan = value.forgotten as readonly Forgotten[];
        for (let from = 0; from < plan.length; from += AT_ONCE)
          ({ session: now } = await act.call(now, plan.slice(from, from + AT_ONCE)));
        return now;
      }),
    [rebuild]: ({ memory: _memory, scope: _scope, ...changed }) =>
      forgetting(name, { ...options, ...(changed as ForgettingOptions) }),
  };
  return Object.freeze(made);
}
