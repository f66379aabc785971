import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { campaign } from "../../session/testing/campaign.js";
import { mergeText } from "./text-merge.js";

const markers = (ours: string, base: string, theirs: string, end = "\n"): string =>
  `<<<<<<< ours${end}${ours}||||||| base${end}${base}=======${end}${theirs}>>>>>>> theirs${end}`;

describe("merging texts", () => {
  it("[M10] changes at different places both arrive", () => {
    const base = "one\ntwo\nthree\nfour\nfive\n";
    const merged = mergeText(base, base.replace("one", "ONE"), `${base}six\n`);
    expect(merged).toEqual({ text: "ONE\ntwo\nthree\nfour\nfive\nsix\n", conflicts: 0 });
  });

  it("[M10] equal changes of both are taken once", () => {
    expect(mergeText("a\nb\nc\nd\n", "a\nB\nc\nx\n", "a\nB\nc\nd\n")).toEqual({
      text: "a\nB\nc\nx\n",
      conflicts: 0,
    });
  });

  it("[M11] different changes of both stand between markers, with the original", () => {
    const merged = mergeText("a\nb\nc\n", "a\nours\nc\n", "a\ntheirs\nc\n");
    expect(merged).toEqual({ text: `a\n${markers("ours\n", "b\n", "theirs\n")}c\n`, conflicts: 1 });
  });

  it("[M11] without a base, what both wrote alike at the ends stands outside", () => {
    const merged = mergeText(undefined, "# title\nours\nend\n", "# title\ntheirs\nend\n");
    expect(merged).toEqual({ text: `# title\n${markers("ours\n", "", "theirs\n")}end\n`, conflicts: 1 });
  });

  it("[M12] line ends are kept: a line that got another end is a changed line", () => {
    const base = "a\r\nb\r\nc\r\nd\r\n";
    expect(mergeText(base, base.replace("a\r\n", "A\r\n"), base.replace("d\r\n", "d\n")).text).toBe(
      "A\r\nb\r\nc\r\nd\n",
    );
    expect(mergeText("a\rb\n", "x\n", "a\rc\n").conflicts).toBe(1);
    const clash = mergeText(base, base.replace("b", "1"), base.replace("b", "2"));
    expect(clash.text).toBe(`a\r\n${markers("1\r\n", "b\r\n", "2\r\n", "\r\n")}c\r\nd\r\n`);
  });

  it("[M12] a missing end of the last line is kept, and so is one that a side added or took away", () => {
    expect(mergeText("a\nb\nc", "A\nb\nc", "a\nb\nc").text).toBe("A\nb\nc");
    expect(mergeText("a\nb\nc", "A\nb\nc", "a\nb\nc\n").text).toBe("A\nb\nc\n");
    expect(mergeText("a\nb\nc\n", "A\nb\nc\n", "a\nb\nc").text).toBe("A\nb\nc");
    expect(mergeText("a\nb", "a\nx", "a\ny")).toEqual({
      text: `a\n${markers("x\n", "b\n", "y\n")}`,
      conflicts: 1,
    });
  });

  it("[M12] empty texts and texts of one line merge", () => {
    expect(mergeText("", "", "a").text).toBe("a");
    expect(mergeText("\n", "\n\n", "\n").text).toBe("\n\n");
    expect(mergeText("a", "", "b")).toEqual({ text: markers("", "a\n", "b\n"), conflicts: 1 });
    expect(mergeText(undefined, "", "b\n")).toEqual({ text: markers("", "", "b\n"), conflicts: 1 });
  });

  it("[M13] texts made to take long do not", () => {
    const same = "x\n".repeat(30_000);
    expect(mergeText(same, `a\n${same}`, `${same}b\n`)).toEqual({ text: `a\n${same}b\n`, conflicts: 0 });
    const lines = (word: string): string =>
      Array.from({ length: 20_000 }, (_, at) => `${word} ${at}\n`).join("");
    expect(mergeText(lines("base"), lines("ours"), lines("theirs")).conflicts).toBe(1);
    const few = (seed: number): string =>
      Array.from({ length: 20_000 }, (_, at) => `${(at * seed * 7919) % 13}\n`).join("");
    expect(mergeText(few(1), few(2), few(3)).conflicts).toBeGreaterThan(0);
    const half = same.repeat(20);
    expect(mergeText(half, `a\n${half}b\n`, `c\n${half}d\n`).conflicts).toBe(1);
    // Everything moved, on both sides: only lines that stand once hold the texts together.
    const moved = `${lines("b")}${lines("a")}`;
    const marked = mergeText(`${lines("a")}${lines("b")}`, moved, `${lines("a")}${lines("b")}end\n`);
    expect(marked.text).toContain("end\n");
  });

  const line = fc.constantFrom("a\n", "b\n", "c\n", "d\r\n", "\n", "}\n");
  const text = fc
    .tuple(fc.array(line, { maxLength: 12 }), fc.constantFrom("", "z", "a"))
    .map(([lines, last]) => lines.join("") + last);

  it("[M14] a side that changed nothing has no say, and sides that agree are right", () => {
    fc.assert(
      fc.property(text, text, (base, other) => {
        expect(mergeText(base, other, base)).toEqual({ text: other, conflicts: 0 });
        expect(mergeText(base, base, other)).toEqual({ text: other, conflicts: 0 });
        expect(mergeText(base, other, other)).toEqual({ text: other, conflicts: 0 });
      }),
    );
  });

  it("[M14] the sides may be swapped, and every line of a side is in the result", () => {
    fc.assert(
      fc.property(text, text, text, (base, ours, theirs) => {
        const merged = mergeText(base, ours, theirs);
        const swapped = mergeText(base, theirs, ours);
        expect(swapped.conflicts).toBe(merged.conflicts);
        if (merged.conflicts === 0) expect(swapped.text).toBe(merged.text);
        // A line that only one side added is nowhere lost.
        for (const side of [ours, theirs])
          for (const one of side.split("\n"))
            if (!base.split("\n").includes(one))
              expect(merged.text.split("\n").map(bare)).toContain(bare(one));
      }),
      { numRuns: campaign(1_000) },
    );
  });
});

function bare(line: string): string {
  return line.replace(/\r$/, "");
}
