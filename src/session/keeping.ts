import { INLINE_BYTES } from "./line.js";
import { savedAsJson, type View } from "./view.js";

/** How the record says content is kept from here on: what a store needs to go on with a loaded session. */
export type KeepingSetting = { readonly inline: number; readonly key?: string };

export const keepingView: View<KeepingSetting> = {
  name: "keeping",
  start: Object.freeze({ inline: INLINE_BYTES }),
  step(setting, fact) {
    if (fact.type !== "session-start" && fact.type !== "session-detach") return setting;
    return Object.freeze({
      inline: fact.inline ?? INLINE_BYTES,
      ...(fact.key !== undefined && { key: fact.key }),
    });
  },
  merge: strictestOf,
  ...savedAsJson<KeepingSetting>(),
};

/**
 * How a merge keeps content. Where any side keeps all of it erasable, so does the merge; where any side keeps words of people
 * erasable, so does the merge; otherwise it goes on as the first side does.
 */
export function strictestOf<Setting extends { readonly inline: number; readonly key?: unknown }>(
  sides: readonly Setting[],
): Setting {
  const [ours] = sides as readonly [Setting, ...Setting[]];
  const strict = sides.find(({ inline }) => inline === 0);
  if (strict !== undefined || ours.key !== undefined) return strict ?? ours;
  const { key } = sides.find((side) => side.key !== undefined) ?? {};
  return key === undefined ? ours : Object.freeze({ ...ours, key });
}
