import type { Json, Session } from "../../../session/index.js";
import { beginsLike, type Document, readDocument } from "../document.js";
import type { Imported, ImportFormat, Source } from "../exchange.js";
import { keepRest, startImport } from "../intake.js";
import { literalOf } from "./literal.js";

const FORMAT = "react";
const AGENT = "agent:react";

/** Text of ReAct notebooks: every episode a session. */
export const react: ImportFormat = {
  name: FORMAT,
  title: "ReAct episodes (text of thoughts, actions and observations)",
  fits: (source) => beginsLike(source, EPISODE, /^Thought 1:/m),
  read: (source) => readDocument(FORMAT, source, (document) => read(source, document)),
};

const EPISODE = /^(\d+) ((?:Claim|Question): .*)$/m;
/** What begins something of an episode. All that follows belongs to it, up to the next beginning. */
const MARK =
  /^(Thought|Action|Observation) (\d+):|^(?=\{'.*\}\s*$)|^(?=\d+ \d+ [\d.e-]+ [\d.e-]+\s*$)|^(?=-----------\s*$)|^(?=ohh\.\.\.)/gm;

function read(source: Source, document: Document): readonly Imported[] {
  const text = document.text().replaceAll("\r\n", "\n");
  const starts = [...text.matchAll(new RegExp(EPISODE, "gm"))];
  const [first] = starts;
  if (first === undefined)
    throw document.refusal({
      where: "",
      reason: 'no episode begins in it ("7 Claim: …" or "7 Question: …")',
    });
  const before = text.slice(0, first.index).trim();
  const names = new Map<string, number>();
  return starts.map((start, index) => {
    const [line, id, asked] = start as unknown as [string, string, string];
    const body = text.slice(start.index + line.length, starts[index + 1]?.index);
    const known = names.get(id) ?? 0;
    names.set(id, known + 1);
    const name = known === 0 ? `episode-${id}` : `episode-${id}-${known + 1}`;
    let session = startImport(source, FORMAT, { name, text: asked, detail: { episode: Number(id) } });
    if (index === 0 && before !== "") session = keepRest(session, "text before the first episode", before);
    const { session: whole, rest } = episode(session, body);
    const notes = rest ? ["The running score of the notebook is kept in a note."] : [];
    return { name, session: whole, notes: [...document.notes, ...notes] };
  });
}

type Piece = { readonly kind: string; readonly number: string; readonly text: string };

function episode(started: Session, body: string): { readonly session: Session; readonly rest: boolean } {
  const at = started.fact.at;
  let session = started;
  let thought: Piece | undefined;
  const rest: string[] = [];
  const calls = new Map<string, string>();
  const say = (action?: Piece) => {
    const words = thought === undefined ? [] : [{ type: "reasoning" as const, text: thought.text.trim() }];
    const call = action === undefined ? undefined : `action-${action.number}`;
    const asked = action === undefined ? undefined : askedIn(action.text);
    const parts =
      asked === undefined || call === undefined
        ? words
        : [...words, { type: "tool-call" as const, call, ...asked }];
    if (parts.length > 0) session = session.say(parts, { role: "assistant", at, by: AGENT });
    thought = undefined;
    if (asked === undefined || call === undefined) return;
    session = session.append({ type: "tool-call", ...asked, call, at, by: AGENT });
    calls.set(call, session.id);
  };
  for (const piece of piecesOf(body)) {
    const { kind, number, text } = piece;
    if (kind === "Thought") {
      if (thought !== undefined) say();
      thought = piece;
    } else if (kind === "Action") say(piece);
    else if (kind === "Observation") {
      if (thought !== undefined) say();
      const of = calls.get(`action-${number}`);
      if (of === undefined)
        session = keepRest(session, `observation ${number} without an action`, text.trim());
      else
        session = session.append({
          type: "tool-result",
          of,
          output: text.trim(),
          at,
          by: "tool:environment",
        });
    } else {
      if (thought !== undefined) say();
      const verdict = text.startsWith("{") ? literalOf(text.trim()) : undefined;
      if (verdict === undefined) rest.push(text.trim());
      else session = judged(session, verdict, text.trim());
    }
  }
  if (thought !== undefined) say();
  const kept = rest.filter((text) => text !== "" && text !== "-----------");
  return {
    session: kept.length === 0 ? session : keepRest(session, "what else the notebook printed", kept),
    rest: kept.length > 0,
  };
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

/** `Search[Rome]` asks a tool; what does not read like that was not understood by the environment either. */
function askedIn(text: string): { readonly name: string; readonly input: Json } {
  const [, name, input] = /^ ?(\w+)\[(.*)\]\n*$/s.exec(text) ?? [];
  return name === undefined ? { name: "invalid", input: text } : { name, input: input as string };
}

function judged(session: Session, verdict: { readonly [key: string]: Json }, text: string): Session {
  const { em, reward } = verdict;
  const score = typeof reward === "number" ? reward : typeof em === "number" ? em : undefined;
  return session.append({
    type: "validation-report",
    name: "environment",
    passed: score === 1,
    ...(score !== undefined && { score }),
    detail: { ...verdict, text },
    at: session.fact.at,
    by: "runtime",
  });
}
