import { defined } from "../util/index.js";
import { FactError } from "./error.js";
import { checkShape, type Fact, type FactInput, noFact, type Principal, type Stamp } from "./fact/index.js";
import { type Json, keepFields } from "./json.js";

/** A fact that is checked and not stamped yet: `at` is empty unless its author gave it, `run` and `seq` are to be set. */
export type Draft = { -readonly [Field in keyof Stamp]: Stamp[Field] } & {
  readonly type: Fact["type"];
  readonly [field: string]: unknown;
};

export type Stamped = { readonly by?: Principal; readonly at?: string };

const OPERATORS: ReadonlySet<string> = new Set(["session-start", "session-detach", "branch-merge"]);
const NO_STAMP: Stamped = Object.freeze({});

export function stampOf(options: Stamped): Stamped {
  if (options.by === undefined && options.at === undefined) return NO_STAMP;
  return defined({ by: options.by, at: options.at });
}

/** The fact as the record will hold it: checked, copied, frozen, with its time and author. */
export function stamped(input: FactInput): Fact {
  const time = now();
  return Object.freeze(checked({ type: "", at: time, by: null }, input, time)) as unknown as Fact;
}

/** The fact as a host gets it: checked and copied, with room for its stamp where every fact of a run has it. */
export function drafted(input: FactInput, actor?: Principal): Draft {
  return checked({ type: "", at: "", run: "", seq: 0, by: null }, input, "", actor) as unknown as Draft;
}

function checked(
  stamp: { [field: string]: Json },
  input: FactInput,
  time: string,
  actor?: Principal,
): { [field: string]: Json } {
  if (typeof input !== "object" || input === null) throw noFact(input);
  const fact = keepFields(stamp, input);
  // The copy is checked, not the original: a getter may answer differently the second time.
  checkShape(fact, time, actor);
  return fact;
}

/** The fact, unless it is one of those that have a method of their own. */
export function withoutMethod<Checked extends { readonly type: string }>(fact: Checked): Checked {
  if (!OPERATORS.has(fact.type)) return fact;
  throw new FactError(fact.type, "it says what parents a session has", "use Session.start, detach or merge");
}

let lastMillisecond = 0;
let lastTime = "";

/** The clock's time as text. Formatting is half the cost of an append, so one millisecond is formatted once. */
function now(): string {
  const millisecond = Date.now();
  if (millisecond !== lastMillisecond) {
    lastMillisecond = millisecond;
    lastTime = new Date(millisecond).toISOString();
  }
  return lastTime;
}
