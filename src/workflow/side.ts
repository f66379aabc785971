import { failedAt, isOfVersion01, lane, type Module } from "../runtime/index.js";
import type { Adopt, Session } from "../session/index.js";
import { enter, type Given } from "./define.js";
import { MODULE } from "./error.js";

/** Work for one branch of those that run side by side. */
export type Side = {
  readonly branch: string;
  readonly why: string;
  readonly run: (session: Session) => Promise<Session>;
};

/** Each part of a module on a branch that is named like it. */
export function sidesOf({ name, parts, order }: Given<object>): readonly Side[] {
  return order.map((part) => ({
    branch: part,
    why: `${name}: ${part}`,
    run: (session) => enter(parts[part] as Module, session),
  }));
}

export function requireSides({ order, refuse }: Given<object>): void {
  if (order.length === 0) throw refuse("it has no parts", MODULE);
}

/** How a side came to rest, and where. */
export type Rest = { readonly session: Session; readonly error?: unknown; readonly failed: boolean };

/**
 * Runs each side on a fork of the session, so many at a time, until all rest. A side that `ended` answers true to
 * ends it: the others are cancelled in their lanes and come to rest, and sides that did not begin never do.
 */
export async function sideBySide(
  session: Session,
  sides: readonly Side[],
  concurrency: number,
  ended: (rest: Rest, place: number) => boolean,
): Promise<(Rest | undefined)[]> {
  const rests: (Rest | undefined)[] = sides.map(() => undefined);
  const lanes = new Map<number, ReturnType<typeof lane>>();
  let next = 0;
  let over = false;

  async function work(): Promise<void> {
    while (!over && next < sides.length) {
      const place = next++;
      const side = sides[place] as Side;
      const own = lane(session.fork(side.branch, { why: side.why, by: "runtime" }));
      lanes.set(place, own);
      const rest = await restOf(own, side.run);
      lanes.delete(place);
      own.leave();
      rests[place] = rest;
      if (!over && ended(rest, place)) {
        over = true;
        for (const other of lanes.values()) other.cancel(`"${side.branch}" ended it`);
      }
    }
  }

  await Promise.all(Array.from({ length: Math.min(concurrency, sides.length) }, work));
  return rests;
}

async function restOf(own: ReturnType<typeof lane>, run: Side["run"]): Promise<Rest> {
  try {
    return { session: await run(own.session), failed: false };
  } catch (error) {
    // Not what the error says of itself: one error may be thrown on several sides.
    return { session: own.rest(), error, failed: true };
  }
}

/** Where a branch that failed came to rest. An error may be thrown on several branches; only one of them is meant. */
export function restAt(error: unknown, forked: Session): Session {
  const at = failedAt(error);
  return at?.descendsFrom(forked) === true ? at : forked;
}

/** Brings branches together, in order; a single one needs no merge. */
export function joined(
  sessions: readonly Session[],
  options: { readonly adopt: Adopt | Session; readonly why: string },
): Session {
  const [first, ...others] = sessions as [Session, ...Session[]];
  return others.length === 0 ? first : first.merge(others, { ...options, by: "runtime" });
}

/**
 * Takes branches into the record behind the session that they left. They are evidence: none of them was chosen, and none
 * rejected. Version 0.1 had no word for that and recorded that the session was adopted.
 */
export function gathered(session: Session, branches: readonly Session[], why: string): Session {
  return joined([session, ...branches], { adopt: isOfVersion01(session) ? "ours" : "none", why });
}

/**
 * Where the sides ended that a module brought together, in order: read from the record, since a module may be
 * entered again by the run that it began.
 */
export function endsIn(left: Session): readonly Session[] {
  const [end] = left.fact.type === "run-suspend" ? [] : left.parents;
  if (end?.fact.type === "branch-merge") return end.parents;
  return end?.fact.type === "module-exit" ? [end] : [];
}

/**
 * Brings what came to rest together behind one side. A module that throws has come to the newest session in it, so
 * a caller that catches the error has the evidence of all sides.
 */
export function restTogether(rests: readonly (Rest | undefined)[], place: number, why: string): Session {
  const others = rests.flatMap((rest, at) => (rest === undefined || at === place ? [] : [rest.session]));
  return joined([(rests[place] as Rest).session, ...others], { adopt: "ours", why });
}
