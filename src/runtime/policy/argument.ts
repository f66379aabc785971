import { canonical, isPerson, type Json } from "../../session/index.js";
import { isObject } from "../../util/index.js";
import type { Action } from "./action.js";

/** One value of an argument, under the name it has there: a text, a number, true or false; undefined is missing or empty. */
export type Leaf = { readonly name: string; readonly value: string | number | boolean | undefined };

/**
 * The values at a path of an action's input, such as "to.email". It leads into every item of a list, with or without a `*` for
 * them; elsewhere `*` stands for any one name. Where it leads nowhere, a value is missing.
 */
export function leavesAt(action: Action, path: string): readonly Leaf[] {
  const { input, schema } = action;
  const way = fieldOf(input, path) === undefined ? path.split(".") : [path];
  return isTyped(action, way[0] as string) ? [] : [...leavesOf(input, "", schema, way)];
}

/** All values that an action is given. An argument with the default of the schema is as good as left out. */
export function givenLeaves(action: Action): readonly Leaf[] {
  const { input, schema } = action;
  if (!isRecord(input)) return [...leavesOf(input, "", schema)];
  const declared = propertiesOf(schema);
  const given = Object.entries(input).filter(([argument, value]) => {
    const usual = fieldOf(declared?.[argument], "default");
    return !isTyped(action, argument) && (usual === undefined || canonical(usual) !== canonical(value));
  });
  return given.length === 0 ? [] : [...leavesOf(Object.fromEntries(given), "", schema)];
}

/** Whether a person put this argument there in place of something else. */
function isTyped({ editor, input, session }: Action, argument: string): boolean {
  if (editor === undefined || !isPerson(editor)) return false;
  const asked = (session.fact as { readonly input?: Json }).input;
  return canonical(fieldOf(input, argument) ?? null) !== canonical(fieldOf(asked, argument) ?? null);
}

/**
 * All values at a path below a value, at any depth. A key only gives them their shape, unless it is data: not a plain name, or
 * not among the names that the tool declares there.
 */
function* leavesOf(
  value: Json | undefined,
  name: string,
  schema: Json | undefined,
  [first, ...rest]: readonly string[] = [],
): Generator<Leaf, void> {
  const declared = propertiesOf(schema);
  if (Array.isArray(value) && value.length > 0) {
    const way = first === undefined || first === "*" ? rest : [first, ...rest];
    for (const one of value as readonly Json[]) yield* leavesOf(one, name, fieldOf(schema, "items"), way);
  } else if (first !== undefined) {
    const keys = first !== "*" ? [first] : isRecord(value) ? Object.keys(value) : [];
    if (keys.length === 0) yield { name, value: undefined };
    for (const key of keys) yield* leavesOf(fieldOf(value, key), key, declared?.[key], rest);
  } else if (typeof value === "number" || typeof value === "boolean") yield { name, value };
  else if (typeof value === "string") yield { name, value: value.trim() === "" ? undefined : value };
  else if (isRecord(value) && Object.keys(value).length > 0)
    for (const [key, one] of Object.entries(value)) {
      const isShape = declared === undefined ? PLAIN.test(key) : Object.hasOwn(declared, key);
      if (!isShape) yield { name, value: key };
      yield* leavesOf(one, key, declared?.[key]);
    }
  else yield { name, value: undefined };
}

const PLAIN = /^[\p{L}_][\p{L}\p{N}_-]*$/u;

/** The arguments that a schema declares, if it declares any. */
export function propertiesOf(schema: Json | undefined): { readonly [key: string]: Json } | undefined {
  const properties = fieldOf(schema, "properties");
  return isRecord(properties) && Object.keys(properties).length > 0 ? properties : undefined;
}

function fieldOf(value: Json | undefined, field: string): Json | undefined {
  return isRecord(value) && Object.hasOwn(value, field) ? value[field] : undefined;
}

function isRecord(value: Json | undefined): value is { readonly [key: string]: Json } {
  return isObject(value);
}
