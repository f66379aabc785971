import { isDigest } from "../blob.js";
import { stamps } from "./check.js";
import type { Tone } from "./family.js";
import { entries, type Fact, type FactFamily, familyNames } from "./table.js";
import { lineOf, type Style, type Writer, writerOf } from "./writer.js";

/**
 * The fact in words, in the past tense and on one line: the rest of a sentence that begins with who did it. Characters that a
 * reader would not see are escaped, wherever they stand. A fact of a newer version is told by its fields.
 *
 * ```ts
 * console.log(`${fact.by} ${describeFact(fact)}`); // user:ada approved 5a07cb9f27a1: small enough
 * ```
 */
export function describeFact(fact: Fact, style: Style = {}): string {
  const writer = writerOf(style);
  return lineOf(sentenceOf(fact, writer), style.most ?? MOST);
}

/** How a fact came out. */
export function toneOf(fact: Fact): Tone {
  return entries.get(fact.type)?.tone?.(fact) ?? "plain";
}

/** The family that a fact belongs to; undefined for one of a newer version. */
export function familyOf({ type }: Fact): FactFamily | undefined {
  return familyNames.get(type);
}

/** Whether it is bookkeeping of the runtime: true and proved, and seldom what somebody looks for. */
export function isQuiet({ type }: Fact): boolean {
  return entries.get(type)?.quiet === true;
}

/** The fields that an event of a trace tells about a fact. They hold nothing that was said. */
export function traceFieldsOf({ type }: Fact): readonly string[] | undefined {
  return entries.get(type)?.trace;
}

const MOST = 1000;

function sentenceOf(fact: Fact, writer: Writer): string {
  try {
    const sentence = entries.get(fact.type)?.say(fact, writer);
    if (sentence !== undefined) return sentence;
  } catch {
    // A list that is gone, or a fact of another version, has another shape.
  }
  const fields = Object.entries(fact)
    .filter(([name]) => !stamps.has(name))
    .map(([name, value]) => `${name}: ${isDigest(value) ? writer.named(value) : writer.words(value)}`);
  return `recorded a ${writer.words(fact.type)}${fields.length === 0 ? "" : ` (${fields.join(", ")})`}`;
}
