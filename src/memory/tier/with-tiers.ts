import { forward, type Module } from "../../runtime/index.js";
import { canonical, type Json } from "../../session/index.js";
import {
  called,
  enter,
  type Rebuilds,
  rebuild,
  refusing,
  requireModule,
  requireName,
  unchangeable,
} from "../../workflow/index.js";
import type { Tiers } from "./tiers.js";

/**
 * A module before which core memory is put into view: an agent inside it reads the blocks at every turn, as they are then.
 *
 * ```ts
 * const helper = withTiers("helper", agent({ name: "helper", model, tools: [...tiers.tools] }), tiers);
 * ```
 */
export function withTiers(name: string, module: Module, tiers: Tiers): Module & Rebuilds {
  requireName(name, "withTiers", 'withTiers("helper", agent, tiers)');
  const where = called("withTiers", name);
  const body = requireModule(module, where);
  if (typeof tiers?.show !== "function")
    throw refusing(where)(
      "it does not say which memory",
      'withTiers("helper", agent, tieredMemory({ memory, blocks }))',
    );
  const made: Module & Rebuilds = {
    name,
    kind: "tiers",
    parts: Object.freeze({ [body.name]: body }),
    state: Object.freeze({ memory: tiers.memory.name, blocks: tiers.blocks as unknown as Json }),
    forward: (given) => forward(made, given, async (entered) => enter(body, await tiers.show(entered))),
    [rebuild]: (state, parts) => {
      // The blocks belong to the tools of the agent too: other ones are another memory.
      if (canonical(state as Json) !== canonical(made.state as Json)) throw unchangeable(made);
      return withTiers(name, parts[body.name] as Module, tiers);
    },
  };
  return Object.freeze(made);
}
