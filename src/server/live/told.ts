import { type FactOf, readFact, typeOf } from "../../session/index.js";
import { isKeptByRuntime, type Store } from "../../store/index.js";
import { type Identity, may } from "../identity/identity.js";
import { type Move, placeText, type ToldMove } from "./moves.js";
import { eventBytes, type SentEvent } from "./stream.js";

/** Events that are sent in one piece; readers that are slow wait between pieces. */
const PIECE = 256;

/** A move as readers are told of it. `sessions` remembers the name of each run that is under way. */
export async function toldMove(
  store: Store,
  move: Move,
  sessions: Map<string, string | undefined>,
): Promise<ToldMove> {
  const { name, id } = move;
  const nonce = /^(?:run|answer)\/([^/]+)\//.exec(name)?.[1];
  if (nonce !== undefined) {
    const session = await sessionOf(store, nonce, sessions);
    if (session === undefined) return move;
    if (name.startsWith("answer/")) return { ...move, name: session, event: "pending" };
    return id === null ? move : { ...move, name: session, event: "move", side: true };
  }
  if (isKeptByRuntime(name)) return move;
  const line = id === null ? undefined : await store.line(id);
  return { ...move, event: line !== undefined && typeOf(line) === "content-erase" ? "erase" : "move" };
}

/** The name of the session of a run that is under way. */
export async function sessionOf(
  store: Store,
  nonce: string,
  sessions: Map<string, string | undefined>,
): Promise<string | undefined> {
  const known = sessions.get(nonce);
  if (known !== undefined) return known;
  const start = await store.head(`run/${nonce}`);
  const line = start === undefined ? undefined : await store.line(start);
  const fact = line === undefined ? undefined : (readFact(line, undefined) as Partial<FactOf<"run-start">>);
  const name = fact?.type === "run-start" ? (fact.name ?? `unnamed/${nonce}`) : undefined;
  if (sessions.size > 10_000) sessions.clear();
  if (name !== undefined) sessions.set(nonce, name);
  return name;
}

/** Joined moves of a stretch of the log that are still to be told. */
export type Stretch = { readonly from: string; readonly end: string; readonly moves: readonly ToldMove[] };

/** The events of a stretch that somebody may see. Each id says how far a reader has come, also in the middle of the stretch. */
export function* chunksOf({ from, end, moves }: Stretch, identity: Identity): Generator<Uint8Array> {
  const seen = moves.filter(({ event, name }) => event !== undefined && may(identity, "view", name));
  for (let at = 0; at < seen.length; at += PIECE)
    yield eventBytes(
      ...seen.slice(at, at + PIECE).map((move, place): SentEvent => {
        const isLast = at + place === seen.length - 1;
        const id = placeText({
          from: isLast ? end : from,
          ...(!isLast && { part: { at: move.token, end } }),
        });
        return { event: move.event as string, data: dataOf(move), id };
      }),
    );
}

function dataOf({ event, name, id, before, side }: ToldMove): unknown {
  if (event === "pending") return { name };
  if (event === "erase") return { name, head: id };
  return {
    name,
    head: id,
    before,
    ...(side && { side }),
  };
}
