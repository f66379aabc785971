import type { FactId, Message } from "../../session/index.js";
import { showValue } from "../../util/index.js";
import type { Checks, Refuse } from "../../workflow/index.js";
import { checkOptions, optional, requireCount, requireFunction, yesOrNo } from "../../workflow/index.js";
import type { Unit } from "./policy.js";

/** The messages that stay in view unchanged. */
export type Pins = {
  /** The first message of the user, which mostly is the task. Default true. */
  readonly first?: boolean;
  /** The newest replies, with what they called and all that came after. Default 4; fewer where they are too large. */
  readonly last?: number;
  /** These facts: messages, calls or their outcomes. */
  readonly facts?: readonly FactId[];
  /** Whatever this says yes to. Of the message alone: a replay must come to the same answer. */
  readonly when?: (message: Message, fact: FactId) => boolean;
};

const EXAMPLE = 'pins: { last: 4, facts: [session.id], when: (message) => message.role === "user" }';
const LAST = 4;

const CHECKS: Checks<Pins> = {
  first: optional((first, _, refuse) => {
    if (typeof first !== "boolean")
      throw refuse(`its pins have a \`first\` of ${showValue(first)}, neither true nor false`, EXAMPLE);
  }),
  last: optional((last, _, refuse) => requireCount(last, "pins.last", refuse, 0, EXAMPLE)),
  facts: optional((facts, _, refuse) => {
    if (!Array.isArray(facts) || !facts.every((id) => /^[0-9a-f]{64}$/.test(String(id))))
      throw refuse("its `pins.facts` must be ids of facts", "pins: { facts: [session.id] }");
  }),
  when: optional((when, _, refuse) => requireFunction(when, "pins.when", refuse, EXAMPLE)),
};

export function requirePins(pins: Pins, refuse: Refuse): void {
  checkOptions(pins, CHECKS, (reason, hint) => refuse(`of its pins: ${reason}`, hint), EXAMPLE);
}

export function sparser(pins: Pins): Pins | undefined {
  const { last = LAST } = pins;
  return last > 1 ? { ...pins, last: last - 1 } : undefined;
}

export function pinned(units: readonly Unit[], pins: Pins): readonly Unit[] {
  const { first = true, last = LAST, facts = [], when } = pins;
  const named = new Set(facts);
  const task = first ? units.findIndex(isTask) : -1;
  const recent = recentFrom(units, last);
  return units.map((unit, place) => {
    if (unit.stays !== undefined) return unit;
    const isPinned =
      place === task ||
      place >= recent ||
      unit.entries.some(
        ({ id, outcome, message }) =>
          named.has(id) ||
          (outcome !== undefined && named.has(outcome)) ||
          (when !== undefined && yesOrNo(when(message, id), "pins.when", "compress")),
      );
    return isPinned ? { ...unit, stays: "pinned" } : unit;
  });
}

/** A root that was detached brings a whole conversation as one fact: to keep all of that would be to keep everything. */
function isTask({ entries, summary }: Unit): boolean {
  return !summary && entries.length === 1 && entries[0]?.message.role === "user";
}

/** The place from which on all is among the newest. */
function recentFrom(units: readonly Unit[], last: number): number {
  let left = last;
  for (let place = units.length - 1; place >= 0 && left > 0; place--)
    if (units[place]?.entries.some(({ message }) => message.role === "assistant") === true && --left === 0)
      return place;
  return left > 0 ? 0 : units.length;
}

/** Pins as they stand in a module's state: what a function decides no record can hold. */
export function pinsOf({ first = true, last = LAST, facts = [], when }: Pins): {
  readonly [name: string]: boolean | number | readonly string[];
} {
  return { first, last, facts: [...facts], when: when !== undefined };
}
