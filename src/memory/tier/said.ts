import { textOf } from "../../agent/model/index.js";
import {
  BeyondHorizonError,
  type Content,
  type FactId,
  type Json,
  type Session,
  Withheld,
} from "../../session/index.js";
import { defined } from "../../util/index.js";

/** Something that was said in a session, or given by a tool. */
export type Said = {
  readonly fact: FactId;
  readonly at: string;
  readonly role: Speaker;
  readonly by: string;
  readonly text: string;
  /** The name of the session, if it is another one. */
  readonly session?: string;
};
export type Speaker = "user" | "assistant" | "tool";

/** What is looked at in all: facts, and characters of texts. */
export type Room = { facts: number; characters: number; whole: boolean };

const SEARCHES: ReadonlySet<string> = new Set(["tool:conversation_search", "tool:archival_memory_search"]);
/** Characters of one message that are looked at. */
const LONGEST = 20_000;

/** What was said on the way to a session, the newest first, as far as there is room; up to `since`, if that is given. */
export function saidIn(
  session: Session,
  room: Room,
  { since, known, name }: { readonly since?: FactId; readonly known: Set<FactId>; readonly name?: string },
): readonly Said[] {
  const found: Said[] = [];
  const open: Session[] = [session];
  while (open.length > 0) {
    // The newest of those that are open: branches come one into the other, as they happened.
    const node = open.splice(newest(open), 1)[0] as Session;
    if (known.has(node.id)) continue;
    if (room.facts <= 0 || room.characters <= 0) {
      room.whole = false;
      break;
    }
    known.add(node.id);
    room.facts -= 1;
    const said = saidBy(node, name);
    if (said !== undefined) {
      found.push(said);
      room.characters -= said.text.length;
    }
    if (node.id === since) continue;
    try {
      open.push(...node.parents);
    } catch (error) {
      if (!(error instanceof BeyondHorizonError)) throw error;
      room.whole = false;
    }
  }
  return found;
}

function newest(open: readonly Session[]): number {
  let place = 0;
  for (let at = 1; at < open.length; at++)
    if ((open[at] as Session).depth > (open[place] as Session).depth) place = at;
  return place;
}

function saidBy({ fact, id }: Session, name: string | undefined): Said | undefined {
  const of = (role: Speaker, text: string): Said | undefined =>
    text.trim() === ""
      ? undefined
      : {
          fact: id,
          at: fact.at,
          role,
          by: fact.by,
          text: text.slice(0, LONGEST).toWellFormed(),
          ...defined({ session: name }),
        };
  switch (fact.type) {
    case "session-start":
      return of("user", wordsOf(fact.text ?? ""));
    case "message-say":
      return fact.role === "system" ? undefined : of(fact.role, wordsOf(fact.content));
    case "model-reply":
      return of("assistant", wordsOf(fact.content));
    case "tool-result":
      // What was found before is found where it was said.
      return SEARCHES.has(fact.by) ? undefined : of("tool", jsonText(fact.output));
    default:
      return undefined;
  }
}

function wordsOf(content: Content | Withheld): string {
  return content instanceof Withheld ? "" : textOf(content);
}

function jsonText(value: Json | Withheld): string {
  if (value instanceof Withheld) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
