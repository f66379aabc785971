import { randomBytes } from "node:crypto";
import type { FactOf, Json, Session } from "../../session/index.js";
import type { SaveOptions } from "../../store/index.js";
import type { Call } from "../call.js";
import { type Key, keyOf, requireSame } from "./repeat.js";
import { answerOf, outcomeOf } from "./under-way.js";

/** The kind of the note that says which request something came of. */
export const NOTE = "http-request";

type Asking = Pick<Call, "rath" | "store" | "acts" | "request" | "identity" | "body">;
/** Says that a request was made: in the same commit as what it did, or just before its run begins. */
export type Mark = {
  also(answer: Json): Pick<SaveOptions, "also">;
  begin<Value>(run: () => Promise<Value>): Promise<Value>;
};

/** Keeps a request on record by itself: a session of its own, in the name of its verified sender. */
export async function recordRequest(call: Asking, did: string, name: string): Promise<void> {
  const key = keyOf(call.request, call.identity.principal, call.body);
  await call.store.save(requestSession(call, did, { name, ...key }), { name: nameFor(key), force: true });
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
  const at = nameFor(key);
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

/** Hidden, as names that begin with a dot are. */
function nameFor(key: Key | undefined): string {
  return `.requests/${key?.key ?? randomBytes(16).toString("hex")}`;
}
