import { within } from "../../agent/index.js";
import { textOf } from "../../agent/model/index.js";
import { type Tool, type ToolContext, tool } from "../../agent/tool/index.js";
import type { Content, FactId, Json, Session } from "../../session/index.js";
import { BeyondHorizonError, readFact, Withheld } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined, optionNames, showValue } from "../../util/index.js";
import { type Refuse, requireCount, requireOptions } from "../../workflow/index.js";
import { askedOf, wordsOf } from "../search/tokens.js";

/** The other sessions of the store that belong to the caller. */
export type Conversations = {
  /** The names of sessions that may be searched begin with this: "ada/". */
  readonly under: string;
  /** How many of them at most, those that went on last. Default 20. */
  readonly most?: number;
};

const KNOWN = optionNames<Conversations>()("under most");
const EXAMPLE = 'conversations: { under: "ada/" }';
const SESSIONS = 20;
const MOST_SESSIONS = 200;
/** Names that are looked at to find the newest. */
const NAMES = 2_000;
/** Of each session that is not the own one, the newest facts. */
const HORIZON = 5_000;
const FACTS = 100_000;
const CHARACTERS = 4_000_000;
const LIMIT = 5;
const MOST = 20;
const EXCERPT = 600;

export function conversationsOf(given: unknown, refuse: Refuse): Conversations | undefined {
  if (given === undefined) return undefined;
  requireOptions(given as Conversations, refuse, EXAMPLE, KNOWN);
  const { under, most = SESSIONS } = given as Conversations;
  if (typeof under !== "string" || under === "" || under.startsWith("memory/"))
    throw refuse(`the names of its conversations begin with ${showValue(under)}`, EXAMPLE);
  requireCount(most, "most", refuse, 1, 'conversations: { under: "ada/", most: 20 }');
  if (most > MOST_SESSIONS)
    throw refuse(`its conversations are more than ${MOST_SESSIONS}`, `most: ${MOST_SESSIONS}`);
  return Object.freeze({ under, most });
}

/** A tool that searches the conversation, also out of view, and other named sessions. */
export function conversationSearch(conversations: Conversations | undefined): Tool {
  return tool({
    name: "conversation_search",
    description: `Looks for what was said before in this conversation${
      conversations === undefined ? "" : " and in earlier ones"
    }, by its words. The best matches come first; ask for the next page for more.`,
    input: {
      type: "object",
      properties: {
        query: { type: "string", description: "Words that were said." },
        roles: {
          type: "array",
          items: { type: "string", enum: ["user", "assistant", "tool"] },
          description: "Only what these said.",
        },
        limit: { type: "integer", minimum: 1, maximum: MOST },
        start_date: { type: "string", description: "Only what was said from this time on: an ISO date." },
        end_date: { type: "string", description: "Only what was said up to this time: an ISO date." },
        page: { type: "integer", minimum: 0, maximum: 1_000, description: "0 is the first page." },
      },
      required: ["query"],
      additionalProperties: false,
    } as const,
    effect: "read",
    origin: "memory",
    run: async (input, context) => {
      const asked = input as Asked;
      const room: Room = { facts: FACTS, characters: CHARACTERS, whole: true };
      const found = ranked(await allSaid(context, room, conversations), asked);
      const { limit = LIMIT, page = 0 } = asked;
      const from = page * limit;
      return {
        found: found.slice(from, from + limit).map((one) => told(one, asked.query)),
        matches: found.length,
        ...(from + limit < found.length && { next_page: page + 1 }),
        ...(!room.whole && { note: "The oldest messages were not searched." }),
      };
    },
  }) as Tool;
}

type Asked = {
  readonly query: string;
  readonly roles?: readonly Speaker[];
  readonly limit?: number;
  readonly start_date?: string;
  readonly end_date?: string;
  readonly page?: number;
};

async function allSaid(
  { session, store, signal }: ToolContext,
  room: Room,
  conversations: Conversations | undefined,
): Promise<readonly Said[]> {
  const known = new Set<FactId>();
  const since = within(session);
  const said = [...saidIn(session, room, { known, ...defined({ since }) })];
  if (conversations === undefined) return said;
  const kept = await store();
  for (const { name, id } of await newestUnder(kept, conversations)) {
    signal.throwIfAborted();
    if (known.has(id)) continue;
    said.push(...saidIn(await kept.load(id, { horizon: HORIZON }), room, { known, name }));
  }
  return said;
}

/** The newest sessions whose names begin so, without memory spaces. */
async function newestUnder(store: Store, { under, most = SESSIONS }: Conversations) {
  const names = (await store.names({ under })).filter(({ name }) => !name.startsWith("memory/"));
  const dated: { name: string; id: FactId; at: string }[] = [];
  for (const { name, id } of names.slice(-NAMES)) {
    const line = await store.line(id);
    if (line !== undefined) dated.push({ name, id, at: readFact(line, undefined).at });
  }
  return dated
    .sort((one, other) => (one.at > other.at ? -1 : one.at < other.at ? 1 : one.name < other.name ? -1 : 1))
    .slice(0, most);
}

type Ranked = Said & { readonly score: number };

/** Those with words of the question, rare words counting more; equal ones as they were found, the newest first. */
function ranked(said: readonly Said[], { query, roles, start_date, end_date }: Asked): readonly Ranked[] {
  const words = askedOf(query);
  const [since, until] = [timeOf(start_date, -1), timeOf(end_date, 1)];
  const counts = new Map<string, number>();
  const matches: { readonly said: Said; readonly has: ReadonlyMap<string, number> }[] = [];
  const meant = said.filter(({ role, at }) => {
    const time = Date.parse(at);
    return (roles?.includes(role) ?? true) && time >= since && time <= until;
  });
  for (const one of meant) {
    const has = new Map<string, number>();
    const all = new Set(words);
    for (const word of wordsOf(one.text)) if (all.has(word)) has.set(word, (has.get(word) ?? 0) + 1);
    if (has.size === 0) continue;
    for (const word of has.keys()) counts.set(word, (counts.get(word) ?? 0) + 1);
    matches.push({ said: one, has });
  }
  return matches
    .map(({ said: one, has }) => {
      let score = 0;
      for (const [word, times] of has)
        score += Math.log(1 + meant.length / (counts.get(word) ?? 1)) * (times / (times + 1));
      return { ...one, score };
    })
    .sort((one, other) => other.score - one.score);
}

/** A date without a time is a whole day. */
function timeOf(given: string | undefined, end: -1 | 1): number {
  if (given === undefined) return end * Number.POSITIVE_INFINITY;
  const text = /^\d{4}-\d{2}-\d{2}$/.test(given) && end === 1 ? `${given}T23:59:59.999Z` : given;
  return Date.parse(text);
}

function told({ fact, at, role, by, text, session }: Said, query: string): Json {
  return { fact: fact.slice(0, 16), at, role, by, ...defined({ session }), text: excerpt(text, query) };
}

/** The part of a text around the first word that was asked for. */
function excerpt(text: string, query: string): string {
  if (text.length <= EXCERPT) return text;
  const lower = text.toLowerCase();
  const places = query
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word.length > 1)
    .map((word) => lower.indexOf(word))
    .filter((place) => place >= 0);
  const from = Math.max(0, Math.min(...(places.length === 0 ? [0] : places)) - EXCERPT / 4);
  const to = Math.min(text.length, from + EXCERPT);
  const piece = text.slice(from, to).toWellFormed();
  return `${from > 0 ? "… " : ""}${piece}${to < text.length ? " …" : ""}`;
}

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

/** The limits of the search: facts, and characters of texts. */
export type Room = { facts: number; characters: number; whole: boolean };

const SEARCHES: ReadonlySet<string> = new Set(["tool:conversation_search", "tool:archival_memory_search"]);
/** Characters of one message that are looked at. */
const LONGEST = 20_000;

/** The messages on the way to a session, newest first, within the room, up to `since`. */
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
  const { at, by } = fact;
  const of = (role: Speaker, whole: string): Said | undefined => {
    const text = whole.slice(0, LONGEST).toWellFormed();
    return whole.trim() === "" ? undefined : { fact: id, at, role, by, text, ...defined({ session: name }) };
  };
  switch (fact.type) {
    case "session-start":
      return of("user", textIn(fact.text ?? ""));
    case "message-say":
      return fact.role === "system" ? undefined : of(fact.role, textIn(fact.content));
    case "model-reply":
      return of("assistant", textIn(fact.content));
    case "tool-result":
      // The results of earlier searches are found at their source.
      return SEARCHES.has(fact.by) ? undefined : of("tool", jsonText(fact.output));
    default:
      return undefined;
  }
}

function textIn(content: Content | Withheld): string {
  return content instanceof Withheld ? "" : textOf(content);
}

function jsonText(value: Json | Withheld): string {
  if (value instanceof Withheld) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
