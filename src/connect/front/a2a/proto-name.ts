import { isObject } from "../../../util/index.js";

/**
 * Parameters with the names of JSON. Readers of ProtoJSON take the names of the proto file, too: `task_id` for `taskId`.
 * The values of `data` and `metadata` belong to the caller and keep their names.
 */
export function jsonNames(value: unknown, depth = 0): unknown {
  if (depth === DEEPEST) return value;
  if (Array.isArray(value)) return value.map((one) => jsonNames(one, depth + 1));
  if (!isObject(value)) return value;
  const named: { [name: string]: unknown } = {};
  for (const [name, given] of Object.entries(value)) {
    const json = name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    if (json !== name && Object.hasOwn(value, json)) continue;
    // Assigned, "__proto__" would change the object itself.
    Object.defineProperty(named, json, {
      value: FREE.has(name) ? given : jsonNames(given, depth + 1),
      enumerable: true,
    });
  }
  return named;
}

/** No message of the protocol is deeper: params, message, parts, part. */
const DEEPEST = 4;
const FREE: ReadonlySet<string> = new Set(["data", "metadata"]);
