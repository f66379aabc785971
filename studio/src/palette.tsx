import { type ReactNode, useEffect, useRef, useState } from "react";
import { useFind } from "./data";
import { useAddress } from "./route";
import { plainly } from "./ui";

type Place = { readonly to: string; readonly word: string; readonly key: string };
type ViewOf = { readonly view: string; readonly word: string; readonly key: string };
type Choice = { readonly id: string; readonly word: string; readonly note: string; readonly act: () => void };

/** Everything that can be gone to, and what the server finds: one list, driven by keys. */
export function Palette({
  places,
  views,
  close,
}: {
  readonly places: readonly Place[];
  readonly views: readonly ViewOf[];
  readonly close: () => void;
}): ReactNode {
  const dialog = useRef<HTMLDialogElement>(null);
  const { name, go } = useAddress();
  const [text, setText] = useState("");
  const [chosen, choose] = useState(0);
  const found = useFind(text);
  useEffect(() => dialog.current?.showModal(), []);

  const words: Choice[] = [
    ...places.map(({ to, word, key }) => ({ id: to, word, note: `g ${key}`, act: () => go(to) })),
    ...(name === ""
      ? []
      : views.map(({ view, word, key }) => ({
          id: view,
          word: `${word} of ${name}`,
          note: `g ${key}`,
          act: () => go(`/s/${encodeURIComponent(name)}/${view}`),
        }))),
  ].filter(({ word }) => word.toLowerCase().includes(text.toLowerCase()));
  const hits: Choice[] = (found.data ?? []).map((hit) => ({
    ...hit,
    word: plainly(hit.word),
    act: () => go(hit.path, hit.search),
  }));
  const choices = [...words, ...hits].slice(0, 30);
  const at = Math.min(chosen, choices.length - 1);
  const act = (choice: Choice | undefined): void => {
    if (choice === undefined) return;
    close();
    choice.act();
  };
  return (
    <dialog ref={dialog} aria-label="Find" onClose={close} className="card mt-16 w-[min(92vw,640px)] p-0">
      <input
        autoFocus
        role="combobox"
        aria-expanded="true"
        aria-controls="choices"
        aria-activedescendant={at >= 0 ? `choice-${at}` : undefined}
        aria-label="Find a view, a session, or text in facts"
        placeholder="Find a view, a session, or text in facts"
        className="field rounded-none border-0 border-b border-rule px-4 py-3"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          choose(0);
        }}
        onKeyDown={(event) => {
          const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
          if (step !== 0) choose(Math.min(Math.max(0, at + step), choices.length - 1));
          else if (event.key === "Enter") act(choices[at]);
          else return;
          event.preventDefault();
        }}
      />
      <div id="choices" role="listbox" aria-label="Found" className="max-h-[60vh] overflow-y-auto py-1">
        {choices.map((choice, index) => (
          <div
            key={`${choice.id} ${choice.word}`}
            id={`choice-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            className={`flex cursor-pointer justify-between gap-4 px-4 py-2 ${index === at ? "bg-chosen" : ""}`}
            onClick={() => act(choice)}
            onKeyDown={() => {}}
          >
            <span dir="auto" className="truncate">
              {choice.word}
            </span>
            <span className="meta shrink-0">{choice.note}</span>
          </div>
        ))}
        {choices.length === 0 && <p className="px-4 py-3 text-soft">Nothing found.</p>}
      </div>
    </dialog>
  );
}
