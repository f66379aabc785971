import { type Fact, isContent, isDigest, Withheld } from "../session/index.js";

/** Fields that repeat in another form what others say. */
const REPEATED: ReadonlySet<string> = new Set(["meta", "raw", "native"]);
const STAMPS: ReadonlySet<string> = new Set(["type", "at", "by", "run", "seq"]);

/** The fields of a fact that hold what was said, given or returned. */
export function contentOf(fact: Fact): readonly (readonly [field: string, value: unknown])[] {
  return Object.entries(fact).filter(([field]) => !REPEATED.has(field) && isContent(fact.type, field));
}

/**
 * The lines of everything that a fact says: messages, inputs and outputs, memories, names, paths. A line of a value that lies
 * deeper begins with its key. Content that is not here, because it was erased or never came, has no lines.
 */
export function linesOf(fact: Fact): readonly string[] {
  const lines: string[] = [];
  for (const [field, value] of Object.entries(fact))
    if (!STAMPS.has(field) && !REPEATED.has(field)) collect(value, "", lines);
  return lines;
}

function collect(value: unknown, key: string, lines: string[]): void {
  if (value instanceof Withheld || value === null || value === undefined) return;
  if (typeof value === "object") {
    const isList = Array.isArray(value);
    for (const [name, one] of Object.entries(value))
      if (!REPEATED.has(name)) collect(one, isList ? key : name, lines);
    return;
  }
  if (isDigest(value)) return;
  const prefix = key === "" || key === "text" || key === "type" ? "" : `${key}: `;
  for (const line of String(value).split("\n")) if (line !== "") lines.push(`${prefix}${line}`);
}
