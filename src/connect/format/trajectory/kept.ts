import { type Fact, type Json, type Session, Withheld } from "../../../session/index.js";
import { type Fields, isFields, own } from "../fields.js";

/**
 * A piece of a file in a note, word for word; but `{"$fact": n, "at": path}` stands for a long text that the
 * fact n before the note holds already. Erasing that text erases it here too.
 */
export type Kept = Json;

const MARKS: ReadonlySet<string> = new Set(["$fact", "$json"]);
/** Shorter texts stand for themselves: naming them would take more room. */
const NAMED_LENGTH = 48;

/** The piece as a note keeps it that comes after these facts, oldest first. */
export function kept(piece: Json, facts: readonly Fact[]): Kept {
  const places = new Map<string, Json>();
  for (const [place, fact] of facts.entries())
    for (const [field, value] of Object.entries(fact))
      index(value as Json, [field], facts.length - place, places);
  return named(piece, places);
}

/** The piece that a note keeps, with marks in place of erased texts. */
export function restored(note: Session, piece: Kept): Json {
  const past: Session[] = [];
  const factBefore = (count: number): Fact => {
    for (let last = past.at(-1) ?? note; past.length < count; past.push(last))
      last = last.parents[0] as Session;
    return (past[count - 1] as Session).fact;
  };
  return resolved(piece, factBefore);
}

/** The mark in place of content that is not there. */
export function withheldText({ reason }: Pick<Withheld, "reason">): string {
  return reason === "erased" ? "[erased]" : reason === "missing" ? "[not here]" : "[damaged]";
}

function index(
  value: unknown,
  path: readonly (string | number)[],
  back: number,
  places: Map<string, Json>,
): void {
  if (typeof value === "string") {
    if (value.length >= NAMED_LENGTH && !places.has(value)) places.set(value, { $fact: back, at: [...path] });
  } else if (Array.isArray(value)) {
    for (const [place, part] of value.entries()) index(part, [...path, place], back, places);
  } else if (isFields(value)) {
    for (const [key, part] of Object.entries(value)) index(part, [...path, key], back, places);
  }
}

function named(value: Json, places: ReadonlyMap<string, Json>): Kept {
  if (typeof value === "string") return places.get(value) ?? value;
  if (Array.isArray(value)) return value.map((part) => named(part as Json, places));
  if (!isFields(value)) return value;
  const entries = Object.entries(value).map(([key, part]) => [key, named(part, places)] as const);
  const copy = Object.fromEntries(entries);
  return Object.keys(value).some((key) => MARKS.has(key)) ? { $json: copy } : copy;
}

function resolved(value: Kept, factBefore: (count: number) => Fact): Json {
  if (Array.isArray(value)) return value.map((part) => resolved(part as Json, factBefore));
  if (!isFields(value)) return value;
  const count = own(value, "$fact");
  if (typeof count === "number")
    return found(factBefore(count), (own(value, "at") ?? []) as readonly (string | number)[]);
  const inside = own(value, "$json");
  const fields = isFields(inside) ? inside : value;
  return Object.fromEntries(Object.entries(fields).map(([key, part]) => [key, resolved(part, factBefore)]));
}

function found(fact: Fact, path: readonly (string | number)[]): Json {
  let value: unknown = fact;
  for (const step of path) {
    if (value instanceof Withheld) break;
    value = (value as { readonly [key: string | number]: unknown } | undefined)?.[step];
  }
  if (value instanceof Withheld) return withheldText(value);
  return typeof value === "string" ? value : withheldText({ reason: "missing" });
}

/** The paths of a piece that its facts do not say: `extra.ancestry`, `tool_calls[].extra`. */
export function untold(piece: Json, facts: readonly Fact[]): readonly string[] {
  const told = new Set<unknown>();
  for (const fact of facts) gather(fact, told);
  const paths = untoldIn(piece, told, "");
  return paths === "all" ? [""] : paths;
}

function gather(value: unknown, into: Set<unknown>): void {
  if (typeof value === "object" && value !== null) {
    if (!(value instanceof Withheld)) for (const part of Object.values(value)) gather(part, into);
  } else into.add(value);
}

function untoldIn(value: Json, told: ReadonlySet<unknown>, path: string): readonly string[] | "all" {
  if (value === null) return [];
  if (typeof value !== "object") return told.has(value) ? [] : "all";
  const parts = Array.isArray(value)
    ? value.map((part) => [`${path}[]`, part as Json] as const)
    : Object.entries(value as Fields).map(
        ([key, part]) => [path === "" ? key : `${path}.${key}`, part] as const,
      );
  const results = parts.map(([place, part]) => [place, untoldIn(part, told, place)] as const);
  if (results.length > 0 && results.every(([, result]) => result === "all")) return "all";
  return results.flatMap(([place, result]) => (result === "all" ? [place] : result));
}
