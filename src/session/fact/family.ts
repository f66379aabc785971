import type { Json } from "../json.js";
import type { FieldText, ValueOf } from "./field.js";
import type { Principal, PrincipalKind } from "./value.js";
import type { Writer } from "./writer.js";

export type Fields = { readonly [name: string]: FieldText };

/**
 * The principal where the fact does not say. A message is by its role. A guess about who decided would be false evidence, so decisions
 * have no default: they must say.
 */
export type Author = PrincipalKind | "by role" | "must say";

/** How a fact came out: what failed is what people look for. */
export type Tone = "good" | "bad" | "plain";

/**
 * Everything there is to know about a type of fact. Types, checks, docs/format.md and every text that describes a fact
 * are made from it.
 */
export interface Entry<By extends Author, Body extends Fields> {
  readonly by: By;
  /** The fields in the order in which docs/format.md lists them. */
  readonly fields: Body;
  /** Any other fields are welcome, and all of them are content. */
  readonly open?: true;
  /** The fact in words, in the past tense: the rest of a sentence that begins with who did it. */
  say(fact: BodyOf<Body> & { readonly by: Principal }, writer: Writer): string;
  /** Bookkeeping of the runtime: true and proved, and seldom what somebody looks for. */
  readonly quiet?: true;
  /** How it came out. Left out, it is plain. */
  tone?(fact: BodyOf<Body>): Tone;
  /** The fields that an event of a trace tells. Without this list, traces have no event for the fact. */
  readonly trace?: readonly (keyof Body & string)[];
}

/** One type of fact. A function, so that the compiler knows the fields inside `say`. */
export function fact<const By extends Author, const Body extends Fields>(
  entry: Entry<By, Body>,
): Entry<By, Body> {
  return entry;
}

/** One type of fact that takes any other fields too. */
export function openFact<const By extends Author, const Body extends Fields>(
  entry: Entry<By, Body> & { readonly open: true },
): Entry<By, Body> & { readonly open: true } {
  return entry;
}

/** The values of the fields of a fact. */
export type BodyOf<Body extends Fields> = Flat<
  {
    readonly [Name in keyof Body as IsOptional<Body[Name]> extends true ? never : Name]: ValueOf<Body[Name]>;
  } & {
    readonly [Name in keyof Body as IsOptional<Body[Name]> extends true ? Name : never]?: ValueOf<Body[Name]>;
  }
>;

/** The body of each type of a family. */
export type BodiesOf<Family> = {
  readonly [Type in keyof Family]: Family[Type] extends Entry<infer _, infer Body>
    ? Family[Type] extends { readonly open: true }
      ? Flat<BodyOf<Body> & { readonly [field: string]: Json | undefined }>
      : BodyOf<Body>
    : never;
};

/** The types of a family whose author must be said. */
export type DecisionsOf<Family> = {
  [Type in keyof Family]: Family[Type] extends { readonly by: "must say" } ? Type : never;
}[keyof Family];

type IsOptional<Text> = Text extends `${string}?` ? true : false;
type Flat<Type> = { [Key in keyof Type]: Type[Key] };
