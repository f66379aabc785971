import type { Json, Part } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import type { Imported, ImportFormat } from "../exchange.js";
import { beginsLike, defineImport, type Foreign } from "../foreign.js";
import { Arrival } from "../trajectory/arrival.js";

const AGENT = "agent:react";

/** Text of ReAct notebooks: every episode a session. */
export const react: ImportFormat = defineImport({
  name: "react",
  title: "ReAct episodes (text of thoughts, actions and observations)",
  fits: (source) => beginsLike(source, EPISODE, /^Thought 1:/m),
  read,
});

const EPISODE = /^(\d+) ((?:Claim|Question): .*)$/m;
/** The beginning of a piece of an episode. The piece ends at the next beginning. */
const MARK =
  /^(Thought|Action|Observation) (\d+):|^(?=\{'.*\}\s*$)|^(?=\d+ \d+ [\d.e-]+ [\d.e-]+\s*$)|^(?=-----------\s*$)|^(?=ohh\.\.\.)/gm;

function read(foreign: Foreign): readonly Imported[] {
  const text = foreign.text().replaceAll("\r\n", "\n");
  const starts = [...text.matchAll(new RegExp(EPISODE, "gm"))];
  if (starts.length === 0) foreign.refuse("", 'no episode begins in it ("7 Claim: …" or "7 Question: …")');
  const before = text.slice(0, starts[0]?.index).trim();
  const names = new Map<string, number>();
  return starts.map((start, index) => {
    const [line, id = "", asked = ""] = start;
    const body = text.slice(start.index + line.length, starts[index + 1]?.index);
    const known = names.get(id) ?? 0;
    names.set(id, known + 1);
    const name = known === 0 ? `episode-${id}` : `episode-${id}-${known + 1}`;
    const arrival = Arrival.start(foreign, { name, text: asked, detail: { episode: Number(id) } });
    if (index === 0 && before !== "") arrival.rest("text before the first episode", before);
    const isRest = tellEpisode(arrival, body);
    return arrival.imported(name, isRest ? ["The running score of the notebook is kept in a note."] : []);
  });
}

type Piece = { readonly kind: string; readonly number: string; readonly text: string };

/** Tells an episode; whether the notebook printed something else as well. */
function tellEpisode(arrival: Arrival, body: string): boolean {
  let thought: Piece | undefined;
  const rest: string[] = [];
  const calls = new Map<string, string>();
  const say = (action?: Piece) => {
    const parts: Part[] = thought === undefined ? [] : [{ type: "reasoning", text: thought.text.trim() }];
    const call = `action-${action?.number}`;
    const asked = action === undefined ? undefined : askedIn(action.text);
    if (asked !== undefined) parts.push({ type: "tool-call", call, ...asked });
    if (parts.length > 0) arrival.say("assistant", parts, AGENT);
    thought = undefined;
    if (asked !== undefined) calls.set(call, arrival.call(asked.name, asked.input, call, "react"));
  };
  for (const piece of piecesOf(body)) {
    const { kind, number, text } = piece;
    if (kind !== "Action" && thought !== undefined) say();
    if (kind === "Thought") thought = piece;
    else if (kind === "Action") say(piece);
    else if (kind === "Observation") {
      const of = calls.get(`action-${number}`);
      if (of === undefined) arrival.rest(`observation ${number} without an action`, text.trim());
      else arrival.add({ type: "tool-result", of, output: text.trim(), by: "tool:environment" });
    } else {
      const verdict = text.startsWith("{") ? literalOf(text.trim()) : undefined;
      if (verdict === undefined) rest.push(text.trim());
      else judge(arrival, verdict, text.trim());
    }
  }
  if (thought !== undefined) say();
  const kept = rest.filter((text) => text !== "" && text !== "-----------");
  if (kept.length > 0) arrival.rest("what else the notebook printed", kept);
  return kept.length > 0;
}

function* piecesOf(body: string): Generator<Piece> {
  const marks = [...body.matchAll(MARK)];
  const head = body.slice(0, marks[0]?.index ?? body.length);
  if (head.trim() !== "") yield { kind: "", number: "", text: head };
  for (const [index, mark] of marks.entries()) {
    const [all, kind = "", number = ""] = mark;
    yield { kind, number, text: body.slice(mark.index + all.length, marks[index + 1]?.index) };
  }
}

/** `Search[Rome]` calls a tool; the environment did not understand other forms either. */
function askedIn(text: string): { readonly name: string; readonly input: Json } {
  const [, name, input] = /^ ?(\w+)\[(.*)\]\n*$/s.exec(text) ?? [];
  return name === undefined ? { name: "invalid", input: text } : { name, input: input as string };
}

function judge(arrival: Arrival, verdict: { readonly [key: string]: Json }, text: string): void {
  const score = [verdict.reward, verdict.em].find((one) => typeof one === "number");
  arrival.add({
    type: "validation-report",
    name: "environment",
    passed: score === 1,
    ...defined({ score }),
    detail: { ...verdict, text },
    by: "runtime",
  });
}

/** A flat Python dictionary of texts and numbers, as Python prints it; undefined when it is something else. */
export function literalOf(text: string): { readonly [key: string]: Json } | undefined {
  if (!text.startsWith("{") || !text.endsWith("}")) return undefined;
  const entries: [string, Json][] = [];
  let place = 1;
  // Blanks belong to one piece of the pattern only, or a long row of them would take exponential time.
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
