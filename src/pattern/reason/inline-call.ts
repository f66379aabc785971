import type { Json } from "../../session/index.js";
import { inputFor, toolCalled, type Written } from "./argument.js";

/** A call that stands in a text. */
export type InlineCall = {
  /** Which of the calls it is, from 0. */
  readonly place: number;
  readonly tool: string;
  readonly input: Json;
  /** As it was written: `[tool(argument)]`. */
  readonly text: string;
};

/** A text with calls in it: what stands around them, one piece more than there are calls. */
export type WithCalls = { readonly pieces: readonly string[]; readonly calls: readonly InlineCall[] };

/** Finds the calls in a text. What is written like one and names no tool is text. A result that the model made up is left out. */
export function textIn(text: string, tools: readonly Written[]): WithCalls {
  const pieces: string[] = [];
  const calls: InlineCall[] = [];
  let from = 0;
  for (const found of text.matchAll(CALL)) {
    const [all, name = "", json, words = ""] = found;
    const tool = toolCalled(name, tools);
    if (tool === undefined) continue;
    const argument = json ?? words;
    pieces.push(text.slice(from, found.index));
    calls.push({
      place: calls.length,
      tool: tool.name,
      input: inputFor(argument, tool.input),
      text: `[${name}(${argument})]`,
    });
    from = found.index + all.length;
  }
  pieces.push(text.slice(from));
  return { pieces, calls };
}

/** The text with something in the place of each call; with nothing, no gap is left either. */
export function rendered({ pieces, calls }: WithCalls, as: (call: InlineCall) => string): string {
  let text = pieces[0] ?? "";
  for (const call of calls) {
    const own = as(call);
    const piece = pieces[call.place + 1] ?? "";
    if (own !== "") text += own + piece;
    // "a [call(x)] b" is "a b", and "a [call(x)]." is "a.".
    else if (/\s$/.test(text) && /^[\s.,;:!?)]/.test(piece)) text = text.replace(/\s$/, "") + piece;
    else text += piece;
  }
  return text;
}

/** `[name({…})]`, `[name(words)]`, with or without `→ result`. */
const CALL =
  /\[(\w[\w-]*)\((?:(\{[^\n]{0,4000}?\})|([^()\n]*(?:\([^()\n]*\)[^()\n]*)*))\)(?:\s*(?:→|->)[^\]\n]*)?\]/g;
