import {
  type FactId,
  type FactOf,
  type Json,
  type Pending,
  type Principal,
  visible,
} from "../../session/index.js";
import { defined } from "../../util/index.js";
import type { Doubt } from "./doubt.js";

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
