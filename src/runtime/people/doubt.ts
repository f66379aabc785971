import {
  canonical,
  type Digest,
  digestOf,
  type Fact,
  type FactId,
  type FactOf,
  type Failure,
  type Json,
  type Principal,
  readFact,
  Session,
  settlersOf,
  typeOf,
  Withheld,
} from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined } from "../../util/index.js";

/** A `write` that was started and whose outcome is unknown. */
export type Doubt = {
  /** The call as it was started, and its digest. */
  readonly shown: Json;
  readonly digest: Digest;
  /** The idempotency key of the call: the other side may know the call by it. */
  readonly key?: string;
  /** The time of the last attempt, and the number of attempts. */
  readonly started?: string;
  readonly attempts: number;
  /** The error of the last attempt, if one is known. */
  readonly error?: Failure;
  /** The people who approved it once: "again" would execute it a second time. */
  readonly approved?: readonly Principal[];
  /** The principals who may settle it, if its approvals name some. */
  readonly to?: readonly Principal[];
};

/** A call in doubt, and the approvals that it was started on. */
export type BegunCall = { readonly doubt: Doubt; readonly asks: readonly FactOf<"approval-ask">[] };

/** Reads from the record what is known of a call in doubt. */
export async function doubtAbout(
  store: Store,
  heads: readonly FactId[],
  request: FactId,
): Promise<BegunCall> {
  const { blobs } = Session.realmOf(await store.load(request));
  const read = (line: string): Fact => readFact(line, blobs);
  const call = read((await store.line(request)) as string);
  const asks = new Map<FactId, FactOf<"approval-ask">>();
  const starts: FactOf<"effect-start">[] = [];
  const approved = new Set<Principal>();
  let shown: Json = shownOf(call);
  let error: Failure | undefined;
  for await (const lines of store.lines(heads, { without: [request] }))
    for (const { id, line } of lines) {
      if (!TELLING.has(typeOf(line))) continue;
      const fact = read(line);
      if (fact.type === "approval-give" && asks.has(fact.of) && fact.decision === "approve") {
        approved.add(fact.by);
        if (fact.edit !== undefined) shown = withInput(shown, known(fact.edit));
      }
      if ((fact as { readonly of?: FactId }).of !== request) continue;
      if (fact.type === "approval-ask") {
        asks.set(id, fact);
        shown = known(fact.what);
      } else if (fact.type === "effect-start") starts.push(fact);
      else if (fact.type === "effect-doubt") error = fact.error;
    }
  const last = starts.at(-1);
  const to = settlersOf([...asks.values()]);
  const doubt: Doubt = {
    shown,
    digest: digestOf(canonical(shown)),
    ...defined({ key: last?.key, started: last?.at }),
    attempts: last?.attempt ?? 0,
    ...defined({ error }),
    ...(approved.size > 0 && { approved: [...approved] }),
    ...(to.length > 0 && { to }),
  };
  return { doubt, asks: [...asks.values()] };
}

const TELLING: ReadonlySet<string> = new Set([
  "approval-ask",
  "approval-give",
  "effect-start",
  "effect-doubt",
]);

function shownOf(call: Fact): Json {
  const { name = "", input = null } = call as { readonly name?: string; readonly input?: Json };
  return { [call.type === "step-call" ? "step" : "tool"]: name, input: known(input) };
}

function known(value: Json): Json {
  const content: unknown = value;
  return content instanceof Withheld ? `[${content.reason}]` : value;
}

/** The call that was shown, with the arguments that a person put in. */
function withInput(shown: Json, input: Json): Json {
  if (typeof shown !== "object" || shown === null || !("input" in shown)) return shown;
  const { used: _, ...call } = shown as { readonly [key: string]: Json };
  return { ...call, input };
}
