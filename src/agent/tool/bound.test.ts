import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json } from "../../session/index.js";
import { campaign } from "../../session/testing/campaign.js";
import { bounded, cutText, MIN_OUTPUT } from "./bound.js";
import { type ContentPart, content, isContent, runTool, type ToolContext, tool } from "./index.js";
import { callContext } from "./testing/context.js";

const NOTE = /\n\[… (\d+) of (\d+) characters left out …\]\n/;
const long = fc
  .tuple(fc.string({ unit: "binary", minLength: 1, maxLength: 40 }), fc.integer({ min: 1, max: 400 }))
  .map(([text, times]) => text.repeat(times));
const limit = fc.integer({ min: MIN_OUTPUT, max: 2_000 });

async function run(value: unknown, maxOutput?: number): Promise<Json> {
  const made = tool({
    name: "t",
    description: "d",
    input: {},
    effect: "read",
    run: (_input: unknown, _context: ToolContext) => value,
    ...(maxOutput !== undefined && { maxOutput }),
  });
  return runTool(made, {}, callContext());
}

describe("the limit of an output", () => {
  it("[O6] a long text keeps its beginning and its end around a note", async () => {
    const text = `start ${"x".repeat(200_000)} end`;
    const output = (await run(text)) as string;
    expect(output).toHaveLength(100_000);
    expect(output).toMatch(/^start x/);
    expect(output).toMatch(/x end$/);
    expect(output).toMatch(/\n\[… 100\d\d\d of 200010 characters left out …\]\n/);
    expect(await run("x".repeat(100_000))).toBe("x".repeat(100_000));
    expect(((await run(text, 200)) as string).length).toBe(200);
    expect(((await run("x".repeat(3_000_000), 1_000_000)) as string).length).toBe(1_000_000);
  });

  it("[O7] no cut is too long, splits a character, or loses anything that it does not tell", () => {
    fc.assert(
      fc.property(long, limit, (text, most) => {
        const cut = cutText(text, most);
        expect(cut.length).toBeLessThanOrEqual(most);
        if (text.length <= most) {
          expect(cut).toBe(text);
          return;
        }
        expect(cut.isWellFormed()).toBe(text.isWellFormed());
        // The note is the only one of its kind: these texts are shorter when they repeat.
        const [note, left, whole] = NOTE.exec(cut) as RegExpExecArray;
        expect(Number(whole)).toBe(text.length);
        expect(cut.length - note.length + Number(left)).toBe(text.length);
        const [head, tail] = cut.split(note) as [string, string];
        expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
        expect(most - cut.length).toBeLessThan(10);
      }),
      { numRuns: campaign(2_000) },
    );
  });

  it("[O7] whatever is returned, what is recorded fits and is well formed", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.letrec<{ value: unknown }>((tie) => ({
          value: fc.oneof(
            { depthSize: "small" },
            long,
            fc.double(),
            fc.array(tie("value"), { maxLength: 20 }),
            fc.dictionary(long, tie("value")),
          ),
        })).value,
        limit,
        async (value, most) => {
          const output = await run(value, most).catch((error: unknown) => error);
          if (output instanceof Error) {
            expect(output.message).toMatch(/not a JSON number/);
            return;
          }
          const size = typeof output === "string" ? output.length : JSON.stringify(output).length;
          expect(size).toBeLessThanOrEqual(most);
          expect((typeof output === "string" ? output : JSON.stringify(output)).isWellFormed()).toBe(true);
        },
      ),
    );
  });

  it("[O8] the short fields of a long object stay", () => {
    const output = { exit: 1, stdout: "o".repeat(5_000), stderr: "e".repeat(300), files: ["a", "b"] };
    const cut = bounded(output, 2_000) as typeof output;
    expect(cut).toMatchObject({ exit: 1, files: ["a", "b"], stderr: output.stderr });
    expect(cut.stdout).toMatch(NOTE);
    expect(cut.stdout.length).toBeGreaterThan(900);
    expect(JSON.stringify(cut).length).toBeLessThanOrEqual(2_000);
  });

  it("[O8] of many short things the JSON becomes a text", () => {
    const numbers = Array.from({ length: 5_000 }, (_, place) => place);
    const cut = bounded({ numbers }, 1_000) as string;
    expect(cut).toHaveLength(1_000);
    expect(cut).toMatch(/^\{"numbers":\[0,1,2,/);
    expect(cut).toMatch(/4999\]\}$/);
    expect(cut).toMatch(NOTE);
  });

  it("[O13] an output of any length is read a few times", () => {
    let reads = 0;
    const rows = Array.from({ length: 20_000 }, (_, place) => ({ place, word: "word" }));
    const counted = new Proxy(rows, {
      get(target, key) {
        if (typeof key === "string" && /^\d+$/.test(key)) reads += 1;
        return Reflect.get(target, key);
      },
    });
    expect(bounded(counted, 100_000)).toMatch(NOTE);
    expect(reads).toBeLessThan(6 * rows.length);
    const file = { type: "file", media: "image/png", data: "A".repeat(1_000) };
    rows.push(file as never);
    reads = 0;
    const cut = bounded(counted, 100_000);
    if (!isContent(cut)) throw new Error("it is no content");
    expect(cut.value).toEqual([{ type: "text", text: expect.stringMatching(NOTE) }, file]);
    expect(reads).toBeLessThan(9 * rows.length);
  });

  it("[O9] halves of characters are replaced", async () => {
    expect(await run("a\ud83db")).toBe("a\ufffdb");
    expect(await run({ "k\udc00": ["\ud800", "👍"] })).toEqual({ "k\ufffd": ["\ufffd", "👍"] });
  });

  it("[O10] texts share the limit, files stay whole", async () => {
    const image: ContentPart = {
      type: "file",
      media: "image/png",
      data: "A".repeat(50_000),
      name: "shot.png",
    };
    const small = content([{ type: "text", text: "look" }, image]);
    expect(await run(small, 200)).toEqual(small);
    const cut = await run(
      content([{ type: "text", text: "x".repeat(5_000) }, image, { type: "text", text: "end" }]),
      1_000,
    );
    if (!isContent(cut)) throw new Error("it is no content any more");
    const [first, second, third] = cut.value;
    expect(first).toMatchObject({ type: "text", text: expect.stringMatching(NOTE) });
    expect(second).toEqual(image);
    expect(third).toEqual({ type: "text", text: "end" });
    const words = Array.from({ length: 500 }, () => ({ type: "text", text: "word" }) as const);
    const many = await run(content([...words, image]), 1_000);
    if (!isContent(many)) throw new Error("it is no content any more");
    expect(many.value).toEqual([{ type: "text", text: expect.stringMatching(NOTE) }, image]);
    expect((many.value[0] as { text: string }).text.length).toBeLessThanOrEqual(1_000);
  });

  it("[O10] so do the files of MCP and of the AI SDK, but files that are read as text are text", async () => {
    const data = "A".repeat(5_000);
    for (const shot of [
      { type: "image", mimeType: "image/png", data },
      { type: "media", mediaType: "application/pdf", data },
      { type: "image-data", mediaType: "image/png", data },
    ]) {
      const output = { content: [{ type: "text", text: "x".repeat(5_000) }, shot], isError: false };
      expect(await run(output, 1_000)).toEqual({
        content: [{ type: "text", text: expect.stringMatching(NOTE) }, shot],
        isError: false,
      });
    }
    for (const media of ["text/html", "image/svg+xml"]) {
      const page = { type: "file", media, data };
      expect(await run({ page, more: "x" }, 1_000)).toEqual({
        page: { type: "text", text: `[a file of type ${media} was left out: 5000 characters are too many]` },
        more: "x",
      });
      expect(await run({ page }, 10_000)).toEqual({ page });
    }
    const row = { type: "row", media: "image/png", data };
    expect(await run(row, 1_000)).toMatchObject({ data: expect.stringMatching(NOTE) });
  });

  it("[O10] a note stands for files that no model takes", async () => {
    const huge: ContentPart = { type: "file", media: "video/mp4", data: "A".repeat(20_000_001) };
    const output = await run(content([huge, { type: "file", media: "image/png", data: "AAAA" }]));
    expect(output).toEqual(
      content([
        { type: "text", text: "[a file of type video/mp4 was left out: 20000001 characters are too many]" },
        { type: "file", media: "image/png", data: "AAAA" },
      ]),
    );
  });

  it("[O10] a value that only looks like content is JSON", () => {
    expect(isContent(content([]) as Json)).toBe(true);
    for (const other of [
      null,
      [],
      "content",
      { type: "content" },
      { type: "content", value: [], more: 1 },
      { type: "content", value: [{ type: "text" }] },
      { type: "content", value: [{ type: "reasoning", text: "x" }] },
      { type: "content", value: [null] },
    ] as Json[])
      expect(isContent(other)).toBe(false);
  });
});
