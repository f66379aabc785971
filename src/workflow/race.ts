import { CancelledError, forward, type Module } from "../runtime/index.js";
import type { Session } from "../session/index.js";
import { ModuleError, RaceError } from "./error.js";
import { called, requireName } from "./options.js";
import { enter, orderOf, type Parts, partsOf } from "./part.js";
import { type Rest, restTogether, sideBySide } from "./side.js";
import { type Rebuilds, rebuild } from "./state.js";

/**
 * Each part on a branch of its own, side by side: the first to finish wins and its conversation goes on. The others
 * are cancelled and come to rest, and what they did stays in the record. A part that fails does not win; when all
 * do, a `RaceError` is thrown.
 *
 * ```ts
 * const quick = race("quick", { local: askLocal, cloud: askCloud });
 * ```
 */
export function race(name: string, modules: readonly Module[] | Parts): Module & Rebuilds {
  requireName(name, "race", 'race("quick", { local, cloud })');
  const where = called("race", name);
  const parts = partsOf(modules, where);
  const order = orderOf(modules);
  if (order.length === 0) throw new ModuleError(where, "it has no parts");
  return made(name, parts, order);
}

function made(name: string, parts: Parts, order: readonly string[]): Module & Rebuilds {
  const module: Module & Rebuilds = {
    name,
    kind: "race",
    parts,
    forward: (given) => forward(module, given, (entered) => run(entered, name, parts, order)),
    [rebuild]: (_state, newParts) => made(name, partsOf(newParts, called("race", name)), order),
  };
  return Object.freeze(module);
}

async function run(session: Session, name: string, parts: Parts, order: readonly string[]): Promise<Session> {
  let won: number | undefined;
  const sides = order.map((part) => ({
    branch: part,
    why: `${name}: ${part}`,
    run: (forked: Session) => enter(parts[part] as Module, forked),
  }));
  const rests = (await sideBySide(session, sides, sides.length, ({ failed }, place) => {
    if (!failed) won ??= place;
    return !failed;
  })) as Rest[];
  if (won === undefined) {
    const together = restTogether(rests, 0, `${name}: nobody finished`);
    // Nobody lost: the whole race was called off.
    const called = rests.find(({ error }) => error instanceof CancelledError);
    if (called !== undefined) throw called.error;
    throw new RaceError(
      name,
      together,
      rests.map((rest) => rest.error),
    );
  }
  return restTogether(rests, won, `${name}: ${order[won]} won`);
}
