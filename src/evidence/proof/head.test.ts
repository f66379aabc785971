import { expect, it } from "vitest";
import { digestOf, Session } from "../../session/index.js";
import { headSignatureOf, signHead } from "./head.js";
import { SigningKey } from "./key.js";

const key = SigningKey.make("ada");
const verdictOf = (line: string, ...keys: readonly SigningKey[]): string | undefined =>
  headSignatureOf(digestOf(line), line, keys)?.verdict;

it("[H1] signHead adds one fact whose signature is good", () => {
  for (const session of [
    Session.start("hi"),
    Session.start("hi", { inline: 0 }).say("secret"),
    Session.start('\ud800 \u2028 "signature":""'),
    Session.start("hi").fork("a").merge(Session.start("ho")),
  ]) {
    const signed = signHead(session, key, { by: "user:ada \u2028é", at: "2026-01-02T03:04:05.000Z" });
    expect(signed.parents).toEqual([session]);
    expect(signed.fact).toMatchObject({
      type: "head-sign",
      of: session.id,
      key: key.label,
      at: "2026-01-02T03:04:05.000Z",
    });
    expect(headSignatureOf(signed.id, signed.line, [key])).toEqual({
      fact: signed.id,
      of: session.id,
      key: key.label,
      by: "user:ada \u2028é",
      at: "2026-01-02T03:04:05.000Z",
      verdict: "good",
      publicKey: key,
    });
    expect(headSignatureOf(session.id, session.line, [key])).toBeUndefined();
  }
});

it("[H2] the signature covers everything that the fact says", () => {
  const session = Session.start("hi");
  const { line, fact } = signHead(session, key, { by: "user:ada" });
  const other = Session.start("ho").id;
  for (const [from, to] of [
    [session.id, other],
    ["user:ada", "user:eve"],
    [fact.at, "2020-01-01T00:00:00.000Z"],
    [`"key":"${key.label}"`, `"key":"${key.label}","why":"more"`],
    ['"by":', '"run":"r","seq":1,"by":'],
    ["ada+", "adb+"],
  ] as const) {
    const changed = line.replaceAll(from, to);
    expect(changed).not.toBe(line);
    expect(verdictOf(changed, key), to).toBe(to === "adb+" ? "unknown" : "bad");
  }
  // The same, and whoever changes `key` has to have that key.
  const thief = SigningKey.make("eve");
  expect(verdictOf(line.replace(key.label, thief.label), key, thief)).toBe("bad");
});

it("[H3] a session in the middle of a run is not signed", () => {
  const asked = Session.start("hi").append({ type: "signal-await", name: "go" });
  expect(() => signHead(asked, key, { by: "user" })).toThrow(/in the middle of a run/);
  const run = Session.start("hi").append({ type: "run-start", nonce: "r", module: "m" });
  const resting = run.append({ type: "run-suspend", of: run.id, waiting: [] });
  expect(() => signHead(resting, key, { by: "user" })).toThrow(/in the middle of a run/);
  const ended = run.append({ type: "run-end", of: run.id });
  const twice = signHead(signHead(ended, key, { by: "user" }), key, { by: "user:grace" });
  expect(verdictOf(twice.line, key)).toBe("good");
  expect(verdictOf(twice.parents[0]?.line ?? "", key)).toBe("good");
});

it("[H4] a signature that is not good is told apart", () => {
  const session = Session.start("hi");
  const { line } = signHead(session, key, { by: "user" });
  expect(verdictOf(line)).toBe("unknown");
  expect(verdictOf(line, SigningKey.make("ada"))).toBe("unknown");
  const by = "user";
  const none = session.append({
    type: "head-sign",
    by,
    of: session.id,
    key: key.label,
    signature: "nothing",
  });
  expect(headSignatureOf(none.id, none.line, [key])).toMatchObject({
    verdict: "bad",
    problem: expect.stringContaining("64 bytes"),
  });
  const elsewhere = session
    .say("x")
    .append({ type: "head-sign", by, of: session.id, key: key.label, signature: "" });
  expect(headSignatureOf(elsewhere.id, elsewhere.line, [key])).toMatchObject({
    verdict: "bad",
    problem: expect.stringContaining("not what it follows"),
  });
});

it("[O1] an option that there is not is refused", () => {
  expect(() => signHead(Session.start("hi"), key, { buy: "user" } as never)).toThrow(/did you mean "by"/);
});
