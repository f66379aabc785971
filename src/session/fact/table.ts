import { conversation } from "./conversation.js";
import { decision } from "./decision.js";
import { call, effect } from "./effect.js";
import type { Author, BodiesOf, DecisionsOf, Entry, Fields, Tone } from "./family.js";
import { memory } from "./memory.js";
import { sandbox, workspace } from "./place.js";
import { record } from "./record.js";
import { run } from "./run.js";
import type { Principal } from "./value.js";
import type { Writer } from "./writer.js";

/** Every family. Named by type, so that declarations keep the comments of the fields. */
type Families = typeof conversation &
  typeof call &
  typeof effect &
  typeof memory &
  typeof sandbox &
  typeof workspace &
  typeof run &
  typeof decision &
  typeof record;

/**
 * Everything that can happen to a session: one closed union, as a table from type to body. `note` is the open door for facts of your
 * own. A fact names other facts by the id of the session they made. docs/format.md lists every type with its fields.
 */
export interface FactBodies extends BodiesOf<Families> {}

export type FactType = keyof FactBodies;

/** When it happened and who did it; inside the line, so the id covers both. A runtime adds its run and place in it. */
export interface Stamp {
  readonly at: string;
  readonly by: Principal;
  readonly run?: string;
  readonly seq?: number;
}

export type FactOf<Type extends FactType> = Type extends FactType
  ? Readonly<FactBodies[Type]> & Stamp & { readonly type: Type }
  : never;
export type Fact = FactOf<FactType>;

/**
 * The argument of `append`: a fact whose stamp may be left to the session. Left out, `at` is now and `by` is who does such
 * things: the "user" says, branches and places; an "agent" calls models and tools, recalls, routes and sums up; a
 * "service" replies; a "tool" gives results; the "runtime" runs and asks. A message is by its role. Inside a run the
 * module that acts takes the place of the "user": "workflow:repair". The person who approved, erased or remembered is never
 * guessed: `by` must say.
 */
export type FactInput = {
  [Type in FactType]: Readonly<FactBodies[Type]> &
    (Type extends DecisionsOf<Families> ? Omit<Partial<Stamp>, "by"> & Pick<Stamp, "by"> : Partial<Stamp>) & {
      readonly type: Type;
    };
}[FactType];

/** The entry of any type. */
export type AnyEntry = Omit<Entry<Author, Fields>, "say" | "tone"> & {
  say(fact: Fact, writer: Writer): string;
  tone?(fact: Fact): Tone;
};

const groups = { conversation, call, effect, memory, sandbox, workspace, run, decision, record } as const;

/** The name of a family of facts. */
export type FactFamily = keyof typeof groups;

const families = Object.assign({}, ...Object.values(groups)) as Families;

/** The family of each type, by its name. */
export const familyNames: ReadonlyMap<string, FactFamily> = new Map(
  Object.entries(groups).flatMap(([name, family]) =>
    Object.keys(family).map((type) => [type, name as FactFamily] as const),
  ),
);

/** The entry of each type, by its name, in the order of docs/format.md. */
export const entries: ReadonlyMap<string, AnyEntry> = new Map(
  Object.entries(families as { readonly [type: string]: AnyEntry }),
);
