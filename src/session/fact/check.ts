import { FactError } from "../error.js";
import type { Json } from "../json.js";
import { isPerson, isPrincipal, PRINCIPAL_KINDS } from "../principal.js";
import type { Author } from "./family.js";
import { type Kind, kinds } from "./field.js";
import { entries } from "./table.js";
import type { Failure, Principal, PrincipalKind } from "./value.js";

const roles: { readonly [role: string]: PrincipalKind } = {
  user: "user",
  assistant: "agent",
  system: "runtime",
};
/** The fields that every fact may have. */
export const stamps: ReadonlySet<string> = new Set(["type", "at", "by", "run", "seq"]);
/** Type, time and author: every fact has them. */
const STAMPED = 3;
const date = /^\d{4}-\d\d-\d\d(T|$)/;

/** The checks of one type, laid out once: appending is the hottest path there is. */
type Checks = {
  readonly by: Author;
  readonly open: boolean;
  readonly fields: readonly Field[];
  readonly known: ReadonlyMap<string, Field>;
  /** The names of the fields that are personal, by any author. */
  readonly personal: readonly string[];
};
type Field = {
  readonly name: string;
  readonly kind: Kind;
  readonly test: Kind["test"];
  readonly optional: boolean;
  readonly mark: string | undefined;
};
const checks = new Map<string, Checks>();
for (const [type, { by, open = false, fields: texts }] of entries) {
  const fields = Object.entries(texts).map(([name, text]): Field => {
    const [, mark, kindName, missing] = /^(?:(content|personal) )?(.+?)(\?)?$/.exec(text) ?? [];
    const kind: Kind = kinds[kindName as keyof typeof kinds];
    return { name, kind, test: kind.test, optional: missing !== undefined, mark };
  });
  const known = new Map(fields.map((field) => [field.name, field]));
  const personal = fields.filter(({ mark }) => mark === "personal").map(({ name }) => name);
  checks.set(type, { by, open, fields, known, personal });
}

/**
 * Throws a `FactError` unless the fact is one of the union, and says who did it where `by` is null. `now` is a time
 * that is known to be one; `actor` acts in place of the user and of an unnamed agent, in a run.
 */
export function checkShape(value: { [field: string]: Json }, now: string, actor?: Principal): void {
  const { type } = value;
  if (typeof type !== "string" || type === "") throw noFact(type);
  const check = checks.get(type);
  if (check === undefined) {
    throw new FactError(
      type,
      "it is not one of the known types",
      `for facts of your own use { type: "note", kind: ${JSON.stringify(type)} }`,
    );
  }
  let known = STAMPED + (value.run === undefined ? 0 : 1) + (value.seq === undefined ? 0 : 1);
  for (const field of check.fields) {
    const found = value[field.name];
    if (found === undefined && field.optional) continue;
    known += 1;
    if (!field.test(found, true)) {
      throw new FactError(
        type,
        `its field "${field.name}" must be ${field.kind.wanted}`,
        `look at "${type}" in the Fact union`,
      );
    }
  }
  const names = Object.keys(value);
  if (!check.open && names.length > known) {
    for (const name of names) {
      if (!check.known.has(name) && !stamps.has(name)) {
        throw new FactError(
          type,
          `it has no field "${name}"`,
          `its fields are ${[...check.known.keys()].join(", ")}; facts of your own go into a note`,
        );
      }
    }
  }
  if (value.by === null) value.by = authorOf(type, check.by, value.role, actor);
  else if (!isPrincipal(value.by)) {
    throw new FactError(
      type,
      "`by` must say who",
      `use one of ${PRINCIPAL_KINDS.join(", ")}, with a name if you like: "user:ada"`,
    );
  }
  if (
    value.at !== now &&
    (typeof value.at !== "string" || !date.test(value.at) || Number.isNaN(Date.parse(value.at)))
  ) {
    throw new FactError(type, "`at` must be a time", "use an ISO 8601 string: new Date().toISOString()");
  }
  if (value.run !== undefined && typeof value.run !== "string")
    throw new FactError(type, "`run` must be text", "leave it to the runtime");
  if (value.seq !== undefined && !Number.isSafeInteger(value.seq))
    throw new FactError(type, "`seq` must be a whole number", "leave it to the runtime");
}

/** The refusal of a value that has no type. */
export function noFact(value: unknown): FactError {
  return new FactError(
    typeof value,
    "a fact is an object with a type",
    'append({ type: "note", kind: "…" })',
  );
}

function authorOf(type: string, by: Author, role: Json | undefined, actor?: Principal): Principal {
  if (by === "must say")
    throw new FactError(type, "it does not say who decided", 'say who: { by: "user:ada", … }');
  const kind = by === "by role" ? (roles[role as string] as PrincipalKind) : by;
  return kind === "user" || by === "agent" ? (actor ?? kind) : kind;
}

/**
 * The field that is missing or of the wrong kind in a fact from a line, if any. Unknown types, further
 * fields and further words for a role or a kind of part are a newer version's and pass; a field that `outside` names is in a blob and is not looked at.
 */
export function flawOf(
  fact: { readonly [field: string]: unknown },
  outside: { readonly [field: string]: unknown },
): string | undefined {
  const { type } = fact;
  for (const { name, test, optional } of checks.get(type as string)?.fields ?? []) {
    if (Object.hasOwn(outside, name) || (optional && !Object.hasOwn(fact, name))) continue;
    if (!Object.hasOwn(fact, name) || !test(fact[name], false)) return name;
  }
  return undefined;
}

/** Whether what a blob holds is what its field must be. */
export function isFit(type: string, field: string, value: unknown): boolean {
  return fieldOf(type, field)?.kind.test(value, false) ?? true;
}

/** Whether a field is content: what was said or done, as opposed to the structure that says where and when. */
export function isContent(type: string, field: string): boolean {
  if (stamps.has(field)) return false;
  const known = fieldOf(type, field);
  return known === undefined || known.mark !== undefined;
}

/**
 * Whether a field holds words of a person, a memory, or a copy of either: what the table says, and all content of a fact
 * whose author or whose role makes it so.
 */
export function isPersonal(fact: Fields, field: string): boolean {
  const type = fact.type as string;
  if (fieldOf(type, field)?.mark === "personal") return true;
  // The id of what a note belongs to is not somebody's words, and a replay finds the note by it.
  if (field === "of" && kinds.id.test(fact.of, true)) return false;
  return isOfPerson(fact) && isContent(type, field);
}

/** Whether a field of a fact may be personal. Asked of every line. */
export function mayBePersonal(fact: Fields): boolean {
  const personal = checks.get(fact.type as string)?.personal ?? [];
  return personal.some((field) => fact[field] !== undefined) || isOfPerson(fact);
}

/**
 * Facts by people, messages in the role of a user by anybody, questions with arguments that a person changed, failures in the
 * words of a person, errors that a module or a run ended with, what goes into or out of a memory, and what an import kept
 * without knowing what it is.
 */
function isOfPerson({ type, by, role, kind, edited, name, error }: Fields): boolean {
  if (isPerson(by as string) || isSaidByPerson(error)) return true;
  switch (type) {
    case "message-say":
      return role === "user";
    case "note":
      return kind === "import-rest" || kind === "import-unreadable";
    case "approval-ask":
      return edited !== undefined;
    case "step-call":
      return OF_MEMORY.test(name as string);
    case "module-exit":
    case "run-end":
      // An error often repeats what a person said. That a run was cancelled must be known when its words are gone.
      return error !== undefined && (error as Partial<Failure> | null)?.code !== "cancelled";
    default:
      return false;
  }
}

/** Whether a failure has the reason of a person who rejected or settled, itself or in the failure that it was caused by. */
function isSaidByPerson(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  const { name, data } = error as Partial<Failure>;
  if (name === "Rejected" || name === "ClientToolError" || name === "EffectFailed") return true;
  return isSaidByPerson((data as { readonly failure?: unknown } | null | undefined)?.failure);
}

/** How src/memory calls its steps: the record says no more about what a step is for. */
const OF_MEMORY = /^(?:(?:remember|revise|revoke|expire|promote|link) in|roll back|recall from) /;

/** Whether a field that is not content may be kept in a blob when it is long: lists and data, never what views are made of. */
export function isBulky(type: string, field: string): boolean {
  const known = fieldOf(type, field);
  return known !== undefined && known.mark === undefined && known.kind.bulky === true;
}

/** Undefined for a field or a type of a newer version. */
function fieldOf(type: string, field: string): Field | undefined {
  return checks.get(type)?.known.get(field);
}

type Fields = { readonly [field: string]: unknown };
