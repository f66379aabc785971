import type { Entry, FactId, Json, Message, Session } from "../../session/index.js";
import { transcriptView } from "../../session/index.js";
import { callsOf, estimateTokens, type ModelConfig, transcriptFor } from "../model/index.js";

/** A way to leave something out of view. The record keeps all of it. */
export interface Policy {
  readonly name: string;
  /** The state that tells policies apart; part of the digest of the module that has it. */
  readonly state: { readonly [name: string]: Json };
  /** Leaves something out of view, oldest first; undefined where there is nothing that it could. */
  apply(crowded: Crowded): Promise<Relieved | undefined>;
}

export type Crowded = {
  readonly session: Session;
  readonly agent: string;
  readonly units: readonly Unit[];
  readonly excess: number;
  readonly budget: number;
};

/** `failed` says what went wrong, and that asking again would not help. */
export type Relieved = { readonly session: Session; readonly failed?: string };

/** A piece that leaves view as a whole: a message, or a reply with the results of all its calls. */
export type Unit = {
  readonly entries: readonly Entry[];
  readonly first: number;
  readonly last: number;
  readonly tokens: number;
  readonly summary: boolean;
  /** Why it stays in view as it is: a call in it waits for its answer, or it belongs to a conversation around this one. */
  readonly stays?: "unanswered" | "outside" | "pinned";
};

export function unitsOf(config: ModelConfig, session: Session): readonly Unit[] {
  const transcript = session.view(transcriptView);
  const entries = [...transcript.settled, ...transcript.open];
  const seen = new Set(transcriptFor(config, session));
  const { ends, open } = linked(entries);
  const units: Unit[] = [];
  for (let first = 0; first < entries.length; ) {
    let last = first;
    for (let place = first; place <= last; place++) last = Math.max(last, ends[place] as number);
    units.push(unitOf(entries.slice(first, last + 1), first, seen, open));
    first = last + 1;
  }
  // Facts in between are not needed, but they separate what is before from what is after.
  return units.filter((unit) => unit.entries.some((entry) => seen.has(entry.message)));
}

function unitOf(
  entries: readonly Entry[],
  first: number,
  seen: ReadonlySet<Message>,
  open: ReadonlySet<Entry>,
): Unit {
  const stays = entries.some((entry) => open.has(entry))
    ? "unanswered"
    : entries.every((entry) => seen.has(entry.message))
      ? undefined
      : "outside";
  return {
    entries,
    first,
    last: first + entries.length - 1,
    tokens: entries.reduce((sum, entry) => sum + tokensOf(entry.message), 0),
    summary: entries.length === 1 && entries[0]?.summary === true,
    ...(stays !== undefined && { stays }),
  };
}

/** The stretches of units that may be left out and stand side by side. */
export function stretchesOf(
  units: readonly Unit[],
  fits: (unit: Unit) => boolean,
): readonly (readonly Unit[])[] {
  const runs: Unit[][] = [];
  let next = -1;
  for (const unit of units) {
    if (unit.stays !== undefined || !fits(unit)) {
      next = -1;
      continue;
    }
    if (unit.first === next) runs.at(-1)?.push(unit);
    else runs.push([unit]);
    next = unit.last + 1;
  }
  return runs;
}

/** The first units, up to the one at which `isEnough` says so: of the tokens before it, its own, and the number before it. */
export function taken(
  units: readonly Unit[],
  isEnough: (before: number, next: number, count: number) => boolean,
): readonly Unit[] {
  let before = 0;
  const end = units.findIndex(({ tokens }, place) => {
    if (isEnough(before, tokens, place)) return true;
    before += tokens;
    return false;
  });
  return end < 0 ? units : units.slice(0, end);
}

export function tokensIn(units: readonly Unit[]): number {
  return units.reduce((sum, { tokens }) => sum + tokens, 0);
}

/** For each entry the last one that must stay with it, and the entries in which something is not answered. */
function linked(entries: readonly Entry[]): {
  readonly ends: readonly number[];
  readonly open: ReadonlySet<Entry>;
} {
  const ends = entries.map((_, place) => place);
  const open = new Set<Entry>();
  /** The places of replies that wait for a result under this id, newest last. */
  const waiting = new Map<string, number[]>();
  const asked = new Map<string, number>();
  entries.forEach((entry, place) => {
    const { id, message } = entry;
    // The messages of a root that was detached are one fact, and a range can name only facts.
    if (id.includes("#")) ends[rootOf(entries, place)] = place;
    if (message.role === "assistant") {
      const given = new Set(
        typeof message.content === "string"
          ? []
          : message.content.flatMap((part) => (part.type === "tool-result" ? [part.call] : [])),
      );
      for (const { call } of callsOf(message.content)) {
        asked.set(call, place);
        if (!given.has(call)) waiting.set(call, [...(waiting.get(call) ?? []), place]);
      }
      return;
    }
    if (message.role !== "tool") return;
    const answered = message.output !== undefined || message.error !== undefined;
    if (!answered || entry.waits === true) open.add(entry);
    const by =
      (answered ? waiting.get(message.call)?.pop() : waiting.get(message.call)?.at(-1)) ??
      asked.get(message.call);
    if (by !== undefined) ends[by] = Math.max(ends[by] as number, place);
  });
  for (const places of waiting.values()) for (const place of places) open.add(entries[place] as Entry);
  return { ends, open };
}

function rootOf(entries: readonly Entry[], place: number): number {
  const root = idOf(entries[place] as Entry);
  let first = place;
  while (first > 0 && idOf(entries[first - 1] as Entry) === root) first--;
  return first;
}

export function idOf({ id }: Entry): FactId {
  return id.slice(0, 64);
}

const known = new WeakMap<Message, number>();

/** About how many tokens a message takes in a prompt. Messages stay the same objects from step to step. */
export function tokensOf(message: Message): number {
  let tokens = known.get(message);
  if (tokens === undefined) {
    tokens = estimateTokens(JSON.stringify(message));
    known.set(message, tokens);
  }
  return tokens;
}
