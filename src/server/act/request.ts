import { type FactOf, type Json, readFact, type Session, warnOf } from "../../session/index.js";
import { ConflictError, type SaveOptions, type Store } from "../../store/index.js";
import { defined } from "../../util/index.js";
import type { Call } from "../call.js";
import { type Key, keyOf, requireSame } from "./repeat.js";
import { answerOf, outcomeOf } from "./under-way.js";

/** The kind of the note that says which request something came of. */
export const NOTE = "http-request";

/** Names that begin with a dot are hidden. A request with a key has a name of its own for a week, others are about a session. */
const KEYED = ".requests/key/";
const ABOUT = ".requests/about/";
const KEPT_MS = 7 * 86_400_000;
const PAGE = 1000;

type Asking = Pick<Call, "rath" | "store" | "acts" | "request" | "identity" | "body">;
/** Says that a request was made: in the same commit as what it did, or just before its run begins. */
export type Mark = {
  also(answer: Json): Pick<SaveOptions, "also">;
  begin<Value>(run: () => Promise<Value>): Promise<Value>;
};

/** Keeps a request on record beside its session: all requests about one are one session, each in the name of its verified sender. */
export async function recordRequest(call: Asking, did: string, name: string): Promise<void> {
  const { store, request, identity, body } = call;
  const at = `${ABOUT}${name}`;
  const noted = { name, ...keyOf(request, identity.principal, body) };
  for (;;) {
    const before = await store.head(at);
    const session =
      before === undefined
        ? requestSession(call, did, noted)
        : (await store.load(before)).append({
            type: "note",
            kind: NOTE,
            did,
            ...noted,
            by: identity.principal,
          });
    try {
      await store.save(session, { name: at, expect: before ?? null });
      return;
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
    }
  }
}

/** Takes away what is kept of requests with keys that are older than a week. */
export async function forgetRequests(store: Store, before = Date.now() - KEPT_MS): Promise<void> {
  for (let after: string | undefined; ; ) {
    const names = await store.names({ under: KEYED, limit: PAGE, ...defined({ after }) });
    for (const { name, id } of names) {
      const line = await store.line(id);
      const { at } = readFact(line ?? '{"fact":{"type":"note"}}', undefined);
      if (Date.parse(at) < before) await store.forget(name);
    }
    if (names.length < PAGE) return;
    after = names.at(-1)?.name;
  }
}

/**
 * Does something once for each idempotency key, also across restarts. An action that commits at once leaves its answer in the same
 * commit. One that begins a run leaves where its session stood before: had it moved, the run began.
 */
export async function once<Answer>(
  call: Asking,
  did: string,
  name: string,
  act: (mark: Mark) => Promise<Answer>,
): Promise<Answer | Response> {
  const { store, acts, rath, request, identity, body } = call;
  const key = keyOf(request, identity.principal, body);
  if (key === undefined) return act({ also: () => ({}), begin: (run) => run() });
  const at = `${KEYED}${key.key}`;
  // One key in 256 looks for those that may go.
  if (key.key.startsWith("00"))
    forgetRequests(store).catch((error: unknown) => warnOf(error, "OPENRATH_SERVER"));
  const known = (await store.head(at)) === undefined ? undefined : (await store.load(at)).fact;
  const before = (await store.head(name)) ?? null;
  if (known?.type === "note" && known.kind === NOTE) {
    const noted = known as FactOf<"note"> & Partial<Key & { before: string | null; answer: Json }>;
    requireSame(key, String(noted.body));
    if (noted.answer !== undefined) return Response.json(noted.answer);
    const { wait } = body as { readonly wait?: boolean };
    if (noted.before !== before)
      return answerOf(acts.underWay.find(name) ?? outcomeOf(name, await rath.load(name)), wait === true);
  }
  return act({
    also: (answer) => ({ also: { [at]: requestSession(call, did, { name, ...key, answer }) } }),
    begin: async (run) => {
      await store.save(requestSession(call, did, { name, ...key, before }), { name: at, force: true });
      try {
        return await run();
      } catch (error) {
        await store.forget(at);
        throw error;
      }
    },
  });
}

function requestSession(
  { rath, identity }: Asking,
  did: string,
  noted: { readonly name: string; readonly [field: string]: Json },
): Session {
  const { principal: by } = identity;
  return rath.start(`${did} ${noted.name}`, { by }).append({ type: "note", kind: NOTE, ...noted, by });
}
