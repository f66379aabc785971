import { frozen } from "./json.js";
import { INLINE_BYTES } from "./line.js";
import type { View } from "./view.js";

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
  // A merge with a session whose content must stay erasable keeps its own content erasable.
  merge: (settings) => (settings.find((setting) => setting.inline === 0) ?? settings[0]) as KeepingSetting,
  save: (setting) => setting,
  load: (saved) => frozen(saved) as unknown as KeepingSetting,
};
