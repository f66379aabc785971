import type { Json } from "../../../session/index.js";

/** A flat Python dictionary of texts and numbers, as Python prints it; undefined when it is something else. */
export function literalOf(text: string): { readonly [key: string]: Json } | undefined {
  if (!text.startsWith("{") || !text.endsWith("}")) return undefined;
  const entries: [string, Json][] = [];
  let place = 1;
  // Blanks belong to one piece of the pattern only: where two could take them, a long row of them takes for ever.
  const pair =
    /\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")\s*:\s*('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^\s,{}'"][^,{}'"]*)(?=[,}])/y;
  while (place < text.length - 1) {
    pair.lastIndex = place;
    const found = pair.exec(text);
    if (found === null) return undefined;
    const value = scalarOf(found[2] as string);
    if (value === undefined) return undefined;
    entries.push([unquoted(found[1] as string), value]);
    place = pair.lastIndex;
    if (text[place] === ",") place += 1;
  }
  return Object.fromEntries(entries);
}

function scalarOf(text: string): Json | undefined {
  if (text.startsWith("'") || text.startsWith('"')) return unquoted(text);
  const word = text.trim();
  if (word === "None") return null;
  if (word === "True" || word === "False") return word === "True";
  const number = Number(word);
  return Number.isFinite(number) ? number : undefined;
}

function unquoted(text: string): string {
  return text.slice(1, -1).replace(/\\(['"\\])/g, "$1");
}
