import type { Json } from "../../../session/index.js";
import { isObject } from "../../../util/index.js";

/** An operation of JSON Patch (RFC 6902), as far as states are changed with it. */
export type PatchOperation =
  | { readonly op: "add" | "replace"; readonly path: string; readonly value: Json }
  | { readonly op: "remove"; readonly path: string };

/** The value with all operations applied, or the reason why it stays as it is. */
export type Patched = { readonly value: Json } | { readonly fault: string };

/** Reads operations from outside; undefined where they are not a patch. */
export function patchOf(given: unknown): readonly PatchOperation[] | undefined {
  return Array.isArray(given) && given.every(isOperation) ? given : undefined;
}

function isOperation(given: unknown): given is PatchOperation {
  if (!isObject(given)) return false;
  const { op, path, value } = given;
  if (typeof path !== "string" || !/^(\/|$)/.test(path)) return false;
  return op === "remove" || ((op === "add" || op === "replace") && value !== undefined);
}

export function patched(value: Json, operations: readonly PatchOperation[]): Patched {
  let result: Json = value;
  for (const operation of operations) {
    const path = operation.path.split("/").slice(1).map(unescapePointer);
    const next = changed(result, path, operation);
    if (next === undefined) return { fault: `${operation.op} ${JSON.stringify(operation.path)}` };
    result = next;
  }
  return { value: result };
}

/** Undefined where the path leads nowhere. */
function changed(node: Json, path: readonly string[], operation: PatchOperation): Json | undefined {
  const [key, ...rest] = path;
  if (key === undefined) return operation.op === "remove" ? undefined : operation.value;
  if (Array.isArray(node)) return changedList(node, key, rest, operation);
  if (typeof node !== "object" || node === null) return undefined;
  const fields = new Map(Object.entries(node));
  const inner = fields.get(key);
  if (rest.length > 0 || operation.op !== "add") {
    if (inner === undefined) return undefined;
    if (rest.length === 0 && operation.op === "remove") fields.delete(key);
    else {
      const next = changed(inner, rest, operation);
      if (next === undefined) return undefined;
      fields.set(key, next);
    }
  } else fields.set(key, operation.value);
  return Object.fromEntries(fields);
}

function changedList(
  list: readonly Json[],
  key: string,
  rest: readonly string[],
  operation: PatchOperation,
): Json | undefined {
  const adds = rest.length === 0 && operation.op === "add";
  const place = key === "-" && adds ? list.length : /^(0|[1-9]\d*)$/.test(key) ? Number(key) : -1;
  if (place < 0 || place > list.length || (place === list.length && !adds)) return undefined;
  if (adds) return [...list.slice(0, place), operation.value, ...list.slice(place)];
  if (rest.length === 0 && operation.op === "remove") return list.filter((_, other) => other !== place);
  const next = changed(list[place] as Json, rest, operation);
  return next === undefined ? undefined : list.map((item, other) => (other === place ? next : item));
}

function unescapePointer(part: string): string {
  return part.replaceAll("~1", "/").replaceAll("~0", "~");
}
