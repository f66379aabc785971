import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  digestOf,
  digestsOf,
  type FactInput,
  keepingView,
  RathError,
  refsOf,
  Session,
  Withheld,
} from "./index.js";
import { sampleFacts } from "./testing/facts.js";
import { answers, lines, MapBlobs, rebuilt } from "./testing/record.js";

const at = "2026-01-01T00:00:00Z";
const id = "b".repeat(64);

/** One session with every type of fact in it. */
function everything(text: string, inline?: number): Session {
  let session = Session.start([{ type: "text", text }], inline === undefined ? {} : { inline });
  for (const fact of Object.values(sampleFacts(text, id))) session = session.append(fact);
  const side = session.fork("side", { why: text }).say(text);
  return session
    .merge(side, { why: text })
    .to("local", { long: "z".repeat(5000) })
    .say(text);
}

describe("blobs", () => {
  it("[B1] content of more than 4096 bytes is kept in a blob, less in the line", () => {
    const say = (text: string): Session => Session.start("x").say(text, { role: "assistant" });
    expect(digestsOf(say("x".repeat(4096)).line)).toEqual([]);
    expect(digestsOf(say("x".repeat(4097)).line)).toEqual([digestOf("x".repeat(4097))]);
    expect(digestsOf(say("é".repeat(2048)).line)).toEqual([]);
    expect(digestsOf(say("é".repeat(2049)).line).length).toBe(1);
    expect(refsOf(say("é".repeat(2049)).line).content).toEqual({
      digest: digestOf("é".repeat(2049)),
      size: 4098,
      media: "text/plain",
    });
  });

  it("[B1] another threshold is recorded where the history starts and goes on from there", () => {
    for (const inline of [1, 10, 100_000]) {
      const session = Session.start("x", { inline }).say("y".repeat(5000), { role: "assistant" });
      expect(digestsOf(session.line).length).toBe(inline < 5000 ? 1 : 0);
      expect(rebuilt(session).view(keepingView)).toMatchObject({ inline });
      expect(session.detach().view(keepingView)).toMatchObject({ inline });
    }
    expect(Session.start("x").view(keepingView)).toMatchObject({ inline: 4096 });
  });

  it("[B2] with threshold 0 no content of any fact is in any line", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z]{12,40}$/), (marker) => {
        const session = everything(marker, 0);
        for (const line of lines(session, session.detach({ why: marker })))
          expect(line).not.toContain(marker);
        const held = [...MapBlobs.of(session).bytes.values()].map((bytes) => Buffer.from(bytes).toString());
        expect(held.every((text) => text.includes(marker) || text.includes("zzzz"))).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  it("[B3] the same content gives the same blob under one key, and another under another", () => {
    const [one, two] = [Session.start("x", { inline: 0 }), Session.start("x", { inline: 0 })];
    const digest = (session: Session): string => digestsOf(session.say("same words").line)[0] as string;
    expect(digest(one)).toBe(digest(one.fork("a").say("between")));
    expect(digest(one)).not.toBe(digest(two));
    expect(digest(one)).not.toBe(digestOf("same words"));
    expect(refsOf(one.line).text).toMatchObject({ salt: 32, size: 33, media: "text/plain" });
    // What is not personal nobody need guess: equal content is shared by everyone.
    const instructions = "y".repeat(5000);
    const [ours, theirs] = [Session.start("a"), Session.start("b")].map((session) =>
      session.append({ type: "agent-configure", agent: "a", instructions }),
    );
    expect(digestsOf((ours as Session).line)).toEqual(digestsOf((theirs as Session).line));
  });

  it("[B9] by default no word of a person and no memory is in any line, however short; other content is", () => {
    const word = "Jane Roe";
    const facts = sampleFacts(word, id);
    let session = Session.start(word).say(word, { role: "assistant" });
    expect(Session.start(word).line).not.toContain(word);
    expect(session.line).toContain(word);
    const [personal, other]: string[][] = [[], []];
    for (const [type, fact] of Object.entries(facts)) {
      session = session.append(fact);
      (session.line.includes(word) ? other : personal)?.push(type);
    }
    for (const type of Object.keys(facts))
      if (type.startsWith("memory-") && type !== "memory-space") expect(personal).toContain(type);
    for (const type of ["message-say", "approval-give", "signal-give", "effect-settle", "context-compress"])
      expect(personal).toContain(type);
    for (const type of ["model-reply", "tool-call", "command-run", "agent-configure"])
      expect(other).toContain(type);
    for (const { line } of [
      session.say(word, { by: "agent:planner", role: "user" }),
      session.append({ type: "note", kind: "import-rest", what: "event", value: { word }, by: "runtime" }),
      session.append({ type: "note", kind: "import-unreadable", value: word, by: "runtime" }),
      session.append({ type: "run-end", of: id, error: { name: "RejectedError", message: word } }),
      session.append({ type: "module-exit", of: id, error: { name: "Error", message: word } }),
      session.append({ type: "note", said: word, by: "user:ada" }),
      session.fork("b", { why: word, by: "user" }),
      session.append({
        ...(facts["tool-result"] as FactInput),
        output: 1,
        edited: { by: "user", input: word },
      } as never),
      session.detach({ why: word }),
      session.append({ type: "tool-failure", error: { name: "Rejected", message: word }, of: id } as never),
      session.append({
        type: "step-failure",
        error: { name: "StepError", message: word, data: { failure: { name: "Rejected", message: word } } },
        of: id,
      } as never),
    ])
      expect(line).not.toContain(word);
    expect(answers(rebuilt(session))).toEqual(answers(session));
    for (const ref of lines(session.detach()).flatMap((line) => Object.values(refsOf(line))))
      expect(ref.salt).toBe(32);
  });

  it("[B9] with the same secret a start is the same session; another secret makes another, and a bad one is refused", () => {
    const start = (secret: Uint8Array): string =>
      Session.start("x", { nonce: "n", at, secret }).say("y", { at }).id;
    expect(start(new Uint8Array(32))).toBe(start(new Uint8Array(32)));
    expect(start(new Uint8Array(32))).not.toBe(start(new Uint8Array(32).fill(1)));
    for (const secret of [new Uint8Array(31), "x".repeat(32)])
      expect(() => start(secret as Uint8Array)).toThrow(RathError);
  });

  it("[B10] a session that says nothing of a key, as version 0.1 wrote it, goes on in the line", () => {
    const line = `{"rath":1,"parents":[],"fact":{"type":"session-start","at":"${at}","by":"user","nonce":"n","text":"words"}}`;
    const old = Session.restore(line, [], { inline: 4096 });
    expect(old.view(keepingView)).toEqual({ inline: 4096 });
    expect(old.say("more words").line).toContain('"content":"more words"');
    // A merge with a session of today keeps words of people out of the line, on whichever side it is.
    for (const merged of [old.merge(Session.start("now")), Session.start("now").merge(old)]) {
      expect(merged.view(keepingView).key).toBeDefined();
      expect(merged.say("more words").line).not.toContain("more words");
    }
    expect(old.detach().line).not.toContain("words");
  });

  it("[B4] with its blobs a record gives all content back, and the blobs can be had again from what was loaded", () => {
    for (const text of ["words", "long ".repeat(2000), "\ud800 lone", "\0"]) {
      for (const inline of [4096, 1, 0]) {
        const session = everything(text, inline);
        const blobs = MapBlobs.of(session);
        const again = rebuilt(session, blobs);
        expect(answers(again)).toEqual(answers(session));
        for (const node of session.history())
          for (const { ref, bytes } of node.blobs())
            expect([digestOf(bytes), bytes.length]).toEqual([ref.digest, ref.size]);
        // Loaded without the key, and with other settings than it was written with.
        expect(MapBlobs.of(again).bytes).toEqual(blobs.bytes);
      }
    }
  });

  it("[B5] erased or missing content reads as withheld, and the id still stands", () => {
    const session = Session.start("secret", { inline: 0 }).append({
      type: "tool-call",
      name: "t",
      input: { secret: true },
    });
    const blobs = MapBlobs.of(session);
    for (const digest of digestsOf(session.line)) blobs.erased.add(digest);
    const erased = rebuilt(session, blobs);
    expect(erased.id).toBe(session.id);
    expect(digestOf(erased.line)).toBe(session.id);
    const { input } = erased.fact as unknown as { input: Withheld };
    expect(input).toBeInstanceOf(Withheld);
    expect(JSON.parse(JSON.stringify(input))).toEqual({
      withheld: "erased",
      digest: input.digest,
      size: input.size,
    });
    expect([...erased.blobs()]).toEqual([]);
    expect(rebuilt(session, null).fact).toMatchObject({ input: { reason: "missing" } });
    const note = erased.append({
      type: "content-erase",
      digests: [input.digest],
      why: "asked",
      by: "user:ada",
    });
    expect(note.fact).toMatchObject({ why: "asked", by: "user:ada", at: expect.any(String) });
  });

  it("[B7] whatever is withheld, structure stays in the line and every view still answers", () => {
    for (const inline of [0, 1, 30, 4096]) {
      for (const text of ["words", "x".repeat(10_000)]) {
        for (const whole of [everything(text, inline), everything(text, inline).detach().say(text)]) {
          const bare = rebuilt(whole, null);
          expect(bare.usage).toEqual(whole.usage);
          expect(bare.pending).toEqual(whole.pending);
          expect(bare.branch).toEqual(whole.branch);
          expect(bare.placement).toEqual(whole.placement);
          expect(bare.lineage.map((step) => step.id)).toEqual(whole.lineage.map((step) => step.id));
          expect(bare.transcript.length).toBeGreaterThan(0);
          expect(bare.detach().placement).toEqual(whole.placement);
        }
      }
    }
    // Long lists of evidence are structure that may be looked up; short ones stay.
    const because = Array.from({ length: 100 }, () => id) as [string, ...string[]];
    const write: FactInput = {
      type: "memory-write",
      space: "s",
      by: "agent",
      text: "t",
      scope: "user",
      source: "tool",
      because,
      at,
    };
    expect(Object.keys(refsOf(Session.start("x").append(write).line))).toEqual(["text", "because"]);
    expect(
      refsOf(Session.start("x", { inline: 1 }).append({ ...write, because: [id] }).line),
    ).not.toHaveProperty("because");
    expect(refsOf(Session.start("x").fork("n".repeat(5000)).line)).toEqual({});
  });

  it("[B8] a blob that is not what its line says reads as withheld, and every view goes on", () => {
    const long = "y".repeat(5000);
    const session = Session.start("x")
      .say([{ type: "text", text: long }])
      .append({ type: "note", list: [long] });
    const detached = session.say([{ type: "text", text: long }]).detach();
    for (const one of [session, detached]) {
      for (const bytes of ["not JSON", "5", '"text"', "null", "[5]", '[{"type":5}]', '[{"role":"user"}]']) {
        const blobs = MapBlobs.of(one);
        for (const digest of blobs.bytes.keys()) blobs.bytes.set(digest, Buffer.from(bytes));
        const again = rebuilt(one, blobs);
        expect(again.transcript.length).toBeGreaterThan(0);
        expect(again.detach().transcript).toEqual(again.transcript);
        if (bytes === "not JSON") expect(JSON.stringify(again.transcript)).toContain('"unfit"');
      }
    }
  });
});
