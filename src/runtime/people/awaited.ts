import {
  canonical,
  type Digest,
  digestOf,
  type Fact,
  type FactId,
  type FactOf,
  type Failure,
  type Json,
  mayAgree,
  type Pending,
  type Principal,
  readFact,
  Session,
  settlersOf,
  typeOf,
  visible,
  Withheld,
} from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined } from "../../util/index.js";
import { delegationOf, type StandingApproval } from "../policy/index.js";
import type { Rath } from "../rath.js";

/** Something that a session waits for. For a call in doubt also the fields of `Doubt`. */
export type Awaited = Pending &
  Partial<Omit<Doubt, "shown" | "digest" | "to">> & {
    /**
     * The call to approve, or the call in doubt. Invisible characters are shown as escapes such as `\u202e`, here and in the
     * other texts; `escaped` is then true.
     */
    readonly shown?: Json;
    readonly escaped?: true;
    /** The digest that an answer must name. It covers the original bytes. */
    readonly digest?: string;
    /** The principals who may answer, and the deadline. */
    readonly to?: readonly Principal[];
    readonly expires?: string;
    /** The rule that asks for the approval, and its reason. */
    readonly rule?: string;
    readonly why?: string;
    /** The person who changed the arguments, and the arguments before. */
    readonly edited?: FactOf<"approval-ask">["edited"];
    /** The `tool-call` fact that it is about, and the model's own id of that call. */
    readonly of?: FactId;
    readonly call?: string;
    /** Where it is a question, or a result is awaited from a client: the JSON schema of an answer. */
    readonly answer?: Json;
    /** Why it is asked once more. */
    readonly problem?: string;
    /** The standing approvals that this session has for the same tool and caller: what else they lack, they do not cover this. */
    readonly standing?: readonly Pick<StandingApproval, "id" | "by" | "always">[];
    /** The number of the execution, if the call was started before and may have happened. */
    readonly execution?: number;
    /** Whether it is answered already. The run takes the answer in when it is resumed. */
    readonly answered: boolean;
  };

export function describeAsk(fact: FactOf<"approval-ask">): Partial<Awaited> {
  const { what, digest, to, expires, rule, why, edited, answer, problem, execution, of } = fact;
  return {
    shown: what,
    digest,
    ...defined({ to, expires, rule, why, edited, answer, problem, execution, of }),
  };
}

/** The request with invisible characters made visible, except in what a program answers with: its schema and principals. */
export function showVisibly(one: Awaited): Awaited {
  const { what, shown, rule, why, edited, problem, error } = one;
  const texts = defined({ what, shown, rule, why, edited, problem, error });
  const seen = visible(texts) as typeof texts;
  return { ...one, ...seen, ...(JSON.stringify(seen) !== JSON.stringify(texts) && { escaped: true }) };
}

/** The details of a pending request for a person, beside its name, its time and its schema. */
export function detailsOf(one: Awaited): { readonly [field: string]: Json } {
  const { shown, escaped, digest, to, problem, execution } = one;
  const { key, started, attempts, error, approved } = one;
  const details = { shown, escaped, digest, to, problem, execution, key, started, attempts, error, approved };
  return defined(details) as { readonly [field: string]: Json };
}

/** The sender of answers through a protocol, and whether they may approve their own requests. */
export type Sender = {
  readonly who: Principal;
  readonly selfApproval: boolean;
  /** Whether they may approve and settle in a session of this name. Default: yes, as far as the rest allows it. */
  readonly mayApprove?: (name: string) => boolean;
};

/**
 * Says of what a run waits for whether a sender may answer it. Over a protocol, the requester of a run is not an approver
 * of what it does, unless the terms name them or `selfApproval` is set.
 */
export async function mayAnswer(
  rath: Rath,
  name: string,
  { who, selfApproval, mayApprove }: Sender,
): Promise<(one: Awaited) => boolean> {
  const isRequester = delegationOf(await rath.load(name)).includes(who);
  const isApprover = mayApprove?.(name) ?? true;
  return (one) => {
    // A signal, and a question of a model, are asked of the requester as well.
    if (one.doubt !== true && (one.type !== "approval-ask" || one.answer !== undefined))
      return one.to === undefined || one.to.includes(who);
    return isApprover && (one.to !== undefined || !isRequester || selfApproval) && mayAgree(one, who);
  };
}

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
export type BegunCall = { readonly doubt: Doubt; readonly asks: readonly Asking[] };

/** The people who are asked, or would be without a standing approval. */
type Asking = Pick<FactOf<"approval-ask">, "to">;

/** Reads from the record what is known of a call in doubt. */
export async function doubtAbout(
  store: Store,
  heads: readonly FactId[],
  request: FactId,
): Promise<BegunCall> {
  const { blobs } = Session.realmOf(await store.load(request));
  const read = (line: string): Fact => readFact(line, blobs);
  const call = read((await store.line(request)) as string);
  const asks = new Map<FactId, Asking>();
  const starts: FactOf<"effect-start">[] = [];
  const approved = new Set<Principal>();
  const { name = "", input = null } = call as { readonly name?: string; readonly input?: Json };
  let shown: Json = { [call.type === "step-call" ? "step" : "tool"]: name, input: known(input) };
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
      } else if (fact.type === "approval-use") {
        approved.add(fact.from);
        asks.set(id, fact);
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
  "approval-use",
  "effect-start",
  "effect-doubt",
]);

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
