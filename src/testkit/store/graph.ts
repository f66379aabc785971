import { type FactInput, Session } from "../../session/index.js";
import { AT } from "./case.js";

/** Numbers that look random and are the same in every run, so that a failure can be seen again. */
export class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** A whole number from 0 up to, not including, `sides`. */
  roll(sides: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % sides;
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.roll(items.length)] as Item;
  }

  shuffled<Item>(items: readonly Item[]): Item[] {
    const left = [...items];
    const mixed: Item[] = [];
    while (left.length > 0) mixed.push(left.splice(this.roll(left.length), 1)[0] as Item);
    return mixed;
  }
}

/**
 * Sessions of a random graph in order: forks, merges (of many, criss-cross, of a past), detached roots, and
 * content in lines, blobs and salted blobs.
 */
export function randomGraph(dice: Dice, size: number): Session[] {
  const nonce = `${dice.roll(2 ** 31)}`;
  const made = [Session.start("task", { nonce, at: AT })];
  while (made.length < size) made.push(...grow(dice, made, `${nonce}.${made.length}`));
  return made;
}

function grow(dice: Dice, made: readonly Session[], label: string): readonly Session[] {
  // Half of the time one of the newest, so that graphs grow deep as well as wide.
  const any = (): Session =>
    dice.roll(2) === 0
      ? (made[made.length - 1 - dice.roll(Math.min(4, made.length))] as Session)
      : dice.pick(made);
  const session = any();
  switch (dice.roll(14)) {
    case 0:
      return [session.fork(`b${label}`, { at: AT, why: "to try" })];
    case 1:
      return [session.say("long ".repeat(2000) + label, { at: AT })];
    case 2:
      return [session.to(dice.pick(["local", "cube"]), undefined, { at: AT })];
    case 3:
      return [session.append({ type: "tool-call", name: "look", input: { label }, at: AT })];
    case 4: {
      const [open] = session.pending;
      return open?.type === "tool-call"
        ? [session.append({ type: "tool-result", of: open.id, output: label, at: AT })]
        : [];
    }
    case 5:
      return [session.append(reply(dice.roll(100), session.id))];
    case 6:
      return merged([session, any(), any(), any()], dice);
    case 7: {
      const other = any();
      const [left, right] = [merged([session, other], dice), merged([other, session], dice)];
      return [...left, ...right, ...merged([...left, ...right], dice)];
    }
    case 8:
      return session.parents[0] === undefined
        ? []
        : merged(dice.shuffled([session, session.parents[0]]), dice);
    case 9:
      return dice.roll(3) === 0
        ? [Session.start(`secret ${label}`, { nonce: label, at: AT, inline: dice.pick([0, 0, 100]) })]
        : [];
    case 10:
      return dice.roll(3) === 0 ? [session.detach({ at: AT })] : [];
    case 11:
    case 12:
      return merged([session, any()], dice);
    default:
      return [session.say(`words ${label}`, { at: AT, role: dice.pick(["user", "assistant"]) })];
  }
}

function merged(sides: readonly Session[], dice: Dice): readonly Session[] {
  const [ours, ...others] = [...new Map(sides.map((side) => [side.id, side])).values()];
  if (ours === undefined || others.length === 0) return [];
  try {
    return [
      ours.merge(others, { adopt: dice.roll(3) === 0 ? dice.roll(others.length + 1) : "both", at: AT }),
    ];
  } catch (error) {
    if ((error as { code?: unknown }).code !== "placement-mismatch") throw error;
    return [ours.merge(others, { adopt: "ours", at: AT })];
  }
}

export function reply(tokens: number, of: string): FactInput {
  return {
    type: "model-reply",
    of,
    content: `reply ${tokens}`,
    finish: "stop",
    usage: { input: tokens, output: 1 },
    at: AT,
  };
}

/** A chain of messages, the first half of which is asked and answered by tools and models now and then. */
export function chain(from: Session, length: number, label = "line"): Session {
  let session = from;
  for (let index = 0; index < length; index++) {
    session =
      index % 7 === 3
        ? session.append(reply(index % 10, session.id))
        : session.say(`${label} ${index}`, { at: AT });
  }
  return session;
}

/** Sessions that nothing else in the list was made from. */
export function headsOf(made: readonly Session[]): Session[] {
  const inner = new Set(made.flatMap((session) => session.parentIds));
  return made.filter((session) => !inner.has(session.id));
}
