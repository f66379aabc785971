import { describe, expect, it } from "vitest";
import { readFact } from "../line.js";
import { Session } from "../session.js";
import { sampleFacts } from "../testing/facts.js";
import { visibleText } from "../visible.js";
import { isContent } from "./check.js";
import { describeFact, isQuiet, toneOf, traceFieldsOf } from "./describe.js";
import { entries, type Fact } from "./table.js";

const id = "a".repeat(64);
const HOSTILE = "\u001b]0;owned\u0007\u202e\u200b\u0000 \r\n\u2028 words";

function facts(text: string): readonly Fact[] {
  const start = Session.start(text);
  const samples = Object.values(sampleFacts(text, id)).map((input) => start.append(input));
  return [start, start.detach(), start.merge(start.fork("b")), ...samples].map(({ fact }) => fact);
}

describe("a fact in words", () => {
  it("[DW1] every type has words of its own, and they hold nothing that a reader would not see", () => {
    const told = new Map(facts(HOSTILE).map((fact) => [fact.type as string, describeFact(fact)]));
    expect([...told.keys()].toSorted()).toEqual([...entries.keys()].toSorted());
    for (const [type, words] of told) {
      expect(visibleText(words), type).toBe(words);
      expect(words, type).not.toMatch(/[\n\t]|undefined|\[object |^recorded a /);
    }
    expect(told.get("message-say")).toBe("said \\u001b]0;owned\\u0007\\u202e\\u200b\\u0000 words");
  });

  it("[DW1] what stands in fields that are not content is made visible too", () => {
    const { fact } = Session.start().append({ type: "tool-call", name: HOSTILE, input: HOSTILE });
    expect(visibleText(describeFact(fact))).toBe(describeFact(fact));
  });

  it("[DW2] is cut to a length, as a whole and piece by piece", () => {
    const { fact } = Session.start().append({
      type: "tool-call",
      name: "n".repeat(500),
      input: "i".repeat(1e6),
    });
    expect(describeFact(fact, { most: 40 })).toHaveLength(40);
    expect(describeFact(fact, { each: 10 })).toBe(`called ${"n".repeat(9)}… with ${"i".repeat(9)}…`);
  });

  it("[DW3] a fact of a newer version is told by its fields, and so is one that is not what its type says", () => {
    const newer = {
      type: "quantum-leap",
      at: "2026-01-02",
      by: "user",
      far: true,
      of: id,
    } as unknown as Fact;
    expect(describeFact(newer)).toBe("recorded a quantum-leap (far: true, of: aaaaaaaaaaaa)");
    expect([toneOf(newer), isQuiet(newer), traceFieldsOf(newer)]).toEqual(["plain", false, undefined]);
    for (const fact of facts("x")) {
      const bare = { type: fact.type, at: fact.at, by: fact.by } as Fact;
      expect(() => describeFact(bare), fact.type).not.toThrow();
      const odd = Object.fromEntries(
        Object.entries(fact).map(([name, value]) => [
          name,
          name === "type" || name === "by" ? value : [null],
        ]),
      ) as unknown as Fact;
      expect(() => describeFact(odd), fact.type).not.toThrow();
    }
  });

  it("[DW3] content that is not here says so", () => {
    const fact = readFact(Session.start("secret").line, undefined);
    expect(describeFact(fact)).toBe("started a session with [missing]");
    expect(describeFact(fact, { quotes: true, gone: () => "[gone]" })).toBe("started a session with [gone]");
  });

  it("[DW4] the fields that a trace tells are never content", () => {
    for (const [type, { trace = [], fields }] of entries)
      for (const field of trace) {
        expect(Object.keys(fields), type).toContain(field);
        expect(isContent(type, field), `${type} ${field}`).toBe(false);
      }
  });
});
