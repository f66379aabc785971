import type { Json } from "openrath";
import type { Dice } from "../adversary/dice.js";

/** Arguments such as tools have: nested, with texts that look alike, numbers at the edge, keys in any order. */
export function someInput(dice: Dice, depth = 0): Json {
  const leaf = (): Json =>
    dice.pick<() => Json>([
      () => dice.word(6),
      () => `${dice.word(3)}@${dice.word(3)}.example`,
      () => dice.below(1_000),
      () => dice.below(100) / 7,
      () => dice.pick([0, -1, 1e21, 0.1, Number.MAX_SAFE_INTEGER]),
      () => dice.pick([true, false, null, "", " ", "e\u0301", "\u00e9", "\ud83d\ude00", "a\u200bb"]),
    ])();
  if (depth > 2 || dice.happens(0.2)) return leaf();
  if (dice.happens(0.3)) return Array.from({ length: dice.below(4) }, () => someInput(dice, depth + 1));
  return Object.fromEntries(
    Array.from({ length: 1 + dice.below(4) }, () => [
      dice.pick(["to", "amount", "path", "text", "__proto__x", dice.word(3)]),
      depth === 0 ? someInput(dice, depth + 1) : leaf(),
    ]),
  );
}

/** The same with something changed, somewhere in it; now and then only in its spelling, which is no change. */
export function mutated(value: Json, dice: Dice): Json {
  if (Array.isArray(value) && value.length > 0 && dice.happens(0.7)) {
    const list = value as readonly Json[];
    const place = dice.below(list.length);
    return dice.pick<() => Json>([
      () => list.with(place, mutated(list[place] as Json, dice)),
      () => list.toSpliced(place, 1),
      () => [...list, list[place] as Json],
      () => list.toReversed(),
    ])();
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    const entries = Object.entries(value) as [string, Json][];
    if (entries.length === 0) return { [dice.word(2)]: dice.below(9) };
    const place = dice.below(entries.length);
    const [key, inner] = entries[place] ?? ["", null];
    return dice.pick<() => Json>([
      () => Object.fromEntries(entries.with(place, [key, mutated(inner, dice)])),
      () => Object.fromEntries(entries.with(place, [`${key} `, inner])),
      () => Object.fromEntries(entries.toSpliced(place, 1)),
      () => ({ ...Object.fromEntries(entries), [dice.word(2)]: dice.below(9) }),
      // Another order of keys says the same.
      () => Object.fromEntries(entries.toReversed()),
    ])();
  }
  if (typeof value === "string")
    return dice.pick<() => Json>([
      () => `${value} `,
      () => value.toUpperCase(),
      () => value.normalize(dice.pick(["NFC", "NFD"])),
      () => value.slice(1),
      () => `${value}\u200b`,
      () => value.replace(/[a-z]/, "\u0430"),
    ])();
  if (typeof value === "number")
    return dice.pick<() => Json>([
      () => value + 1,
      () => -value,
      () => String(value),
      () => value * 10,
      () => [value],
    ])();
  return dice.pick<Json>([true, false, null, 0, "null"]);
}
