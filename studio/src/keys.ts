import { useEffect, useRef } from "react";

/** Keys of a view: "j", "g s", "Ctrl+k". They rest while somebody types, and Ctrl+F stays the browser's. */
export type Keys = { readonly [key: string]: (event: KeyboardEvent) => void };

/** The first key of a pair, once it was pressed, and what it puts before the key that is pressed now. */
let begun: number | undefined;
let before = "";

export function useKeys(keys: Keys, isOn = true): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    if (!isOn) return;
    const press = (event: KeyboardEvent): void => {
      const target = event.target as HTMLElement;
      if (event.defaultPrevented || event.isComposing || event.altKey) return;
      if (document.querySelector("dialog[open]") !== null && !event.ctrlKey && !event.metaKey) return;
      // A button that has the focus is pressed with the space bar.
      if (event.key === " " && target.closest("button, a, summary, [role=option]") !== null) return;
      const isTyping = target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
      const combination = event.ctrlKey || event.metaKey ? `Ctrl+${event.key.toLowerCase()}` : event.key;
      if (isTyping && !combination.startsWith("Ctrl+")) return;
      const act =
        current.current[before + combination] ?? (before === "" ? current.current[combination] : undefined);
      if (act === undefined) return;
      event.preventDefault();
      act(event);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [isOn]);
}

/** Listens before all views, so that each of them sees the same pair. */
addEventListener("keydown", ({ key, timeStamp }) => {
  if (/^(Shift|Control|Alt|Meta)$/.test(key)) return;
  before = begun !== undefined && timeStamp - begun < 1_000 ? "g " : "";
  begun = key === "g" && before === "" ? timeStamp : undefined;
});

/** What the keys do, for the list that "?" shows and for the palette. */
export const HELP: readonly (readonly [keys: string, what: string])[] = [
  ["j k / ↓ ↑", "next, previous row"],
  [", .", "previous, next fact on this lane"],
  ["[ ]", "parent, first child"],
  ["n p", "next, previous failure"],
  ["N", "next waiting fact"],
  ["1 2 3 4", "level: run, turn, step, fact"],
  ["f", "centre the selected row"],
  ["Enter / Esc", "open, close the details"],
  ["o", "only failures"],
  ["m, then c", "mark as A, then compare with it"],
  ["e", "rerun from here"],
  ["h / l", "fold the sub-agent of a row, unfold it"],
  ["< >", "one step back, one step forward in time"],
  ["Space", "play the run, pause it"],
  ["i", "announce the lanes at this row"],
  ["Home / End", "first fact, newest fact"],
  ["y / Y", "copy link, permanent link"],
  ["/", "find"],
  ["Ctrl+K", "all commands"],
  ["g then s g t w f m i v", "sessions, graph, turns, timeline, files, memory, inbox, evidence"],
  ["a e r s", "in the inbox: approve, edit, reject, settle"],
];
