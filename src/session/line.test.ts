import { createHash } from "node:crypto";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  checkLine,
  digestsOf,
  FactError,
  graph,
  parentsOf,
  RecordError,
  refsOf,
  Session,
  toDot,
  toMermaid,
} from "./index.js";
import { campaign } from "./testing/campaign.js";
import { sampleFacts } from "./testing/facts.js";
import { programs, run } from "./testing/program.js";
import { answers, rebuilt } from "./testing/record.js";

const id = "a".repeat(64);

const other = "b".repeat(64);
const at = "2026-01-01T00:00:00Z";
const secret = new Uint8Array(32);
const line = (fact: object, parents: readonly unknown[] = [], blobs?: unknown): string =>
  JSON.stringify({ rath: 1, parents, ...(blobs !== undefined && { blobs }), fact });
const note = { type: "note", at, by: "user" };
const ref = { digest: id, size: 10, media: "text/plain" };

describe("the line", () => {
  it("[I1] the id is the SHA-256 of the line, and the line names its parents by id", () => {
    const session = Session.start("é\u2028😀").fork("a").merge(Session.start("b"));
    for (const node of session.history()) {
      expect(node.id).toBe(createHash("sha256").update(node.line, "utf8").digest("hex"));
      expect(JSON.parse(node.line).parents).toEqual(node.parents.map((parent) => parent.id));
      expect(parentsOf(node.line)).toEqual(node.parentIds);
      expect(node.line.startsWith('{"rath":1,"parents":[')).toBe(true);
    }
  });

  it("[I2] the line is made once and stays the same bytes, asked early or late", () => {
    const session = Session.start(undefined, { nonce: "n", at, secret });
    const { line: early } = session;
    session.say("more").fork("b");
    expect(session.line).toBe(early);
    expect(rebuilt(session.say("y", { at })).line).toBe(session.say("y", { at }).line);
    expect(early).toBe(
      `{"rath":1,"parents":[],"fact":{"type":"session-start","at":"${at}","by":"user","nonce":"n","key":"66687aadf862bd776c8fc18b8e9f8e20"}}`,
    );
  });

  it("[I4] a changed byte anywhere in the past is another id", () => {
    const make = (text: string): Session =>
      Session.start(text, { nonce: "n", at, secret }).say("b", { at }).fork("c", { at });
    expect(make("a").id).toBe(make("a").id);
    expect(make("a").id).not.toBe(make("A").id);
    expect(Session.start("same").id).not.toBe(Session.start("same").id);
  });

  it("[I5] every line made is in its one normal form and is accepted", () => {
    fc.assert(
      fc.property(programs(30), (program) => {
        for (const session of run(program)) {
          expect(JSON.stringify(JSON.parse(session.line))).toBe(session.line);
          checkLine(session.line);
        }
      }),
      { numRuns: 50 },
    );
    for (const inline of [4096, 1, 0]) {
      let session = Session.start("x", { inline });
      for (const fact of Object.values(sampleFacts("y".repeat(50), id))) session = session.append(fact);
      for (const made of session.detach().merge(session, { adopt: 1 }).history()) checkLine(made.line);
    }
  });

  // biome-ignore format: a table
  it.each([
    ["nothing", ""], ["no JSON", "{"], ["a number", "1"], ["null", "null"], ["a list", "[]"], ["an empty object", "{}"], ["a newline at the end", `${line(note)}\n`], ["a blank", line(note).replace(",", ", ")],
    ["a byte order mark", `\ufeff${line(note)}`], ["a duplicate key", line(note).replace('"by"', '"by":"agent","by"')], ["a duplicate fact", line(note).replace('"fact"', '"fact":{},"fact"')],
    ["1.0", line({ ...note, x: 1 }).replace('"x":1', '"x":1.0')], ["1e0", line({ ...note, x: 1 }).replace('"x":1', '"x":1e0')], ["-0", line({ ...note, x: 1 }).replace('"x":1', '"x":-0')],
    ["a number too large to hold", line({ ...note, x: 1 }).replace('"x":1', '"x":9007199254740993')], ["1e400", line({ ...note, x: 1 }).replace('"x":1', '"x":1e400')],
    ["an escape that need not be", line({ ...note, x: "a" }).replace('"x":"a"', '"x":"\\u0061"')], ["a raw lone surrogate", line({ ...note, x: "Q" }).replace("Q", "\ud800")],
    ["a newer format", line(note).replace('"rath":1', '"rath":2')], ["an older format", line(note).replace('"rath":1', '"rath":0')], ["no format", JSON.stringify({ parents: [], fact: note })],
    ["fields in another order", JSON.stringify({ rath: 1, fact: note, parents: [] })], ["a foreign field", JSON.stringify({ rath: 1, parents: [], fact: note, more: 1 })],
    ["parents that are not ids", line(note, ["x"])], ["a parent twice", line(note, [id, id])], ["upper-case ids", line(note, [id.toUpperCase()])], ["no list of parents", JSON.stringify({ rath: 1, parents: {}, fact: note })],
    ["no fact", JSON.stringify({ rath: 1, parents: [], fact: null })], ["a list for a fact", JSON.stringify({ rath: 1, parents: [], fact: [] })], ["no time", line({ type: "note", by: "user" })], ["no type", line({ at, by: "user" })],
    ["empty blobs", line(note, [], {})], ["blobs of null", line(note, [], null)], ["blobs of a number", line(note, [], 5)], ["a list of blobs", line(note, [], [ref])], ["a blob of null", line(note, [], { x: null })],
    ["a blob with a bad digest", line(note, [], { x: { ...ref, digest: "x" } })], ["a blob of negative size", line(note, [], { x: { ...ref, size: -1 } })], ["more salt than blob", line(note, [], { x: { ...ref, salt: 11 } })],
    ["negative salt", line(note, [], { x: { ...ref, salt: -1 } })], ["a blob of another kind", line(note, [], { x: { ...ref, media: "image/png" } })], ["a field here and in a blob", line({ ...note, x: 1 }, [], { x: ref })],
    ["a stamp in a blob", line(note, [], { seq: ref })], ["a known fact without its field", line({ ...note, type: "model-reply", of: id, content: "", finish: "stop" })],
    ["a known fact with a field of another kind", line({ ...note, type: "tool-result", of: 5, output: 1 })], ["a start that is not at a root", line({ ...note, type: "session-start", nonce: "n" }, [id])],
    ["nesting beyond the limit", line({ ...note, x: JSON.parse(`${"[".repeat(600)}${"]".repeat(600)}`) })], ["bottomless nesting", `{"rath":1,"parents":[],"fact":{"type":"note","at":"","by":"","x":${"[".repeat(2e6)}${"]".repeat(2e6)}}}`],
  ])("[I6] a line with %s is refused", (_, text) => {
    expect(() => checkLine(text)).toThrow(RecordError);
  });

  // biome-ignore format: a table
  it.each([
    ["structure in a blob", line({ ...note, type: "branch-fork" }, [id], { name: ref })], ["a type in a blob", line(note, [], { type: ref })],
    ["a choice in a blob", line({ ...note, type: "branch-merge" }, [id, other], { adopt: ref })], ["usage in a blob", line({ ...note, type: "model-reply", of: id, content: "", finish: "stop" }, [id], { usage: ref })],
    ["a merge of one", line({ ...note, type: "branch-merge", adopt: "ours" }, [id])], ["a merge of none", line({ ...note, type: "branch-merge", adopt: "both" })],
    ["theirs of three", line({ ...note, type: "branch-merge", adopt: "theirs" }, [id, other, "c".repeat(64)])], ["a side that is not there", line({ ...note, type: "branch-merge", adopt: 2 }, [id, other])],
    ["a negative side", line({ ...note, type: "branch-merge", adopt: -1 }, [id, other])], ["half a side", line({ ...note, type: "branch-merge", adopt: 0.5 }, [id, other])], ["an unknown choice", line({ ...note, type: "branch-merge", adopt: "mine" }, [id, other])],
    ["a detached root that has parents", line({ ...note, type: "session-detach", nonce: "n", from: id, messages: [] }, [id])], ["messages that are none", line({ ...note, type: "session-detach", nonce: "n", from: id, messages: [5] })],
    ["a threshold below nothing", line({ ...note, type: "session-start", nonce: "n", inline: -1 })], ["parts that are none", line({ ...note, type: "message-say", role: "user", content: [null] }, [id])],
    ["a text without text", line({ ...note, type: "message-say", role: "user", content: [{ type: "text" }] }, [id])], ["a failure without a name", line({ ...note, type: "tool-failure", of: id, error: "boom" }, [id])],
    ["negative usage", line({ ...note, type: "model-reply", of: id, content: "", finish: "stop", usage: { input: -1, output: 0 } }, [id])],
  ])("[I9] a line with %s is refused", (_, text) => {
    expect(() => checkLine(text)).toThrow(RecordError);
  });

  it("[I9] words of a newer version pass: a role, a part, an effect", () => {
    checkLine(
      line({ ...note, type: "message-say", role: "critic", content: [{ type: "video", url: "x" }] }, [id]),
    );
    checkLine(line({ ...note, type: "tool-call", name: "t", input: 1, effect: "maybe" }, [id]));
    checkLine(line({ ...note, type: "branch-merge", adopt: "theirs" }, [id, other], { why: ref }));
    checkLine(line({ ...note, type: "branch-merge", adopt: 1 }, [id, other]));
  });

  it("[I6] no garbage gets through, and nothing but a RecordError comes out", () => {
    const sound = [Session.start("x".repeat(9000)).line, Session.start("x").fork("a").line];
    fc.assert(
      fc.property(
        fc.constantFrom(...sound),
        fc.nat(),
        fc.nat(3),
        fc.string({ unit: "binary", maxLength: 3 }),
        (text, place, cut, put) => {
          const from = place % text.length;
          const broken = text.slice(0, from) + put + text.slice(from + cut);
          try {
            checkLine(broken);
          } catch (error) {
            expect(error).toBeInstanceOf(RecordError);
            return;
          }
          expect(JSON.stringify(JSON.parse(broken))).toBe(broken);
        },
      ),
      { numRuns: campaign(2_000) },
    );
  });

  it("[I7] facts of a newer version are kept, shown and never dropped", () => {
    const start = Session.start("go");
    for (const type of ["thing-happen", "constructor", "toString", "__proto__", "valueOf"]) {
      const text = JSON.stringify({
        rath: 1,
        parents: [start.id],
        fact: { type, at, by: "user", more: { deep: [1] } },
      });
      checkLine(text);
      const foreign = Session.restore(text, [start], { inline: 4096 });
      expect(foreign.line).toBe(text);
      expect(foreign.fact).toMatchObject({ type, more: { deep: [1] } });
      const next = foreign.fork("on").say("goes on");
      expect(answers(rebuilt(next))).toEqual(answers(next));
      expect(next.lineage.map((step) => step.kind)).toEqual(["start", "fork"]);
      const picture = graph(next);
      expect(picture.nodes.map((node) => node.kind)).toEqual(["start", "stretch", "fork", "stretch"]);
      expect(Object.keys(picture.nodes[1]?.types ?? {})).toEqual([type]);
      expect(toMermaid(picture) + toDot(picture)).toContain(type.slice(0, 4));
      expect(() => start.append({ type } as never)).toThrow(FactError);
    }
    checkLine(line({ ...note, type: "message-say", role: "user", content: "x", newer: 1 }));
  });

  it("[I8] the blobs of a line are named without reading the rest", () => {
    const small = Session.start();
    expect([refsOf(small.line), digestsOf(small.line)]).toEqual([{}, []]);
    const large = small.append({ type: "note", text: "x".repeat(5000), fake: '],"blobs":{', by: "agent" });
    expect(Object.keys(refsOf(large.line))).toEqual(["text"]);
    expect(digestsOf(large.line)).toEqual([createHash("sha256").update("x".repeat(5000)).digest("hex")]);
  });
});
