import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Json, Session } from "../session/index.js";
import { campaign } from "../session/testing/campaign.js";
import { openRath, type Rath, type RunFailedError } from "./index.js";
import { perform } from "./module-api.js";
import { policy } from "./policy/index.js";
import { Pieces } from "./request/attempt.js";
import type { Attempt, Outcome } from "./request/request.js";
import { Secrets } from "./secrets.js";
import { moduleOf } from "./testing/module.js";

const KEY = 'sk-live-8f3a"9/+ü\nx';

async function doing(
  rath: Rath,
  act: (attempt: Attempt) => Json | Promise<Json>,
  input: Json = null,
): Promise<Session> {
  const module = moduleOf("m", async (session) =>
    perform(session, {
      fact: { type: "step-call", name: "s", input, effect: "read" },
      effect: "read",
      act: async (attempt): Promise<Outcome> => ({ type: "step-result", value: await act(attempt) }),
      failed: (error) => ({ type: "step-failure", error }),
    }),
  );
  return rath.run(module, rath.start("go"));
}

const outcomeIn = (session: Session) =>
  [...session.history()]
    .map(({ fact }) => fact)
    .find(({ type }) => type.startsWith("step-") && type !== "step-call");

describe("secrets", () => {
  it("[SE1] are handed out by name, and one that nobody knows is an error", async () => {
    const rath = openRath({ store: "memory:", secrets: { KEY, GONE: undefined } });
    let seen: string | undefined;
    await doing(rath, ({ secret }) => {
      seen = secret("KEY");
      return 1;
    });
    expect(seen).toBe(KEY);
    for (const name of ["GONE", "constructor"])
      expect(outcomeIn(await doing(rath, ({ secret }) => secret(name)))).toMatchObject({
        error: { code: "secret-missing" },
      });
    await rath.close();
  });

  it("[SE2] are not on the record, in arguments, outputs, failures, evidence and what observers hear", async () => {
    const rath = openRath({ store: "memory:", secrets: { KEY } });
    const heard: string[] = [];
    rath.observe((event) =>
      heard.push(JSON.stringify(event.kind === "delta" ? event.delta : event.session.line)),
    );
    const good = await doing(
      rath,
      (attempt) => {
        attempt.emit({ with: `Bearer ${KEY}` });
        attempt.record({ type: "note", kind: "seen", text: KEY });
        return { header: `Bearer ${KEY}!`, list: [KEY, 5] };
      },
      { key: KEY },
    );
    expect(outcomeIn(good)).toMatchObject({
      value: { header: "Bearer [secret KEY]!", list: ["[secret KEY]", 5] },
      redacted: ["KEY"],
    });
    const bad = await doing(rath, () => {
      throw Object.assign(new Error(`no access with ${KEY}`), { code: "denied" });
    });
    expect(outcomeIn(bad)).toMatchObject({
      error: { message: "no access with [secret KEY]" },
      redacted: ["KEY"],
    });
    const lines = [...good.history(), ...bad.history()].map(({ line }) => line).join("\n");
    for (const text of [lines, heard.join("\n")]) {
      expect(text).toContain("[secret KEY]");
      expect(text).not.toContain("sk-live");
    }
    const clean = await doing(rath, () => "nothing");
    expect(outcomeIn(clean)).not.toHaveProperty("redacted");
    await rath.close();
  });

  it("[SE2] are not in what a person is shown, nor in how a module or a run failed", async () => {
    const rath = openRath({
      store: "memory:",
      secrets: { KEY },
      policy: policy("ask", [{ name: "all", verdict: "ask", step: "*", why: "always" }]),
    });
    const asked = await doing(rath, () => 1, { key: KEY });
    expect(asked.fact.type).toBe("run-suspend");
    const fails = moduleOf("fails", async () => {
      throw new Error(`no page at https://x.example/?t=${KEY}`);
    });
    const outer = moduleOf("outer", async (session) => fails.forward(session));
    const error = (await rath
      .run(outer, rath.start("go"))
      .catch((thrown: unknown) => thrown)) as RunFailedError;
    const lines = [...asked.history(), ...error.session.history()].map(({ line }) => line).join("\n");
    for (const type of ["approval-ask", "run-end"]) expect(lines).toContain(`"type":"${type}"`);
    expect(lines).not.toContain("sk-live");
    await rath.close();
  });

  it("[SE2] do not keep a what-if from using again what is finished", async () => {
    const rath = openRath({ store: "memory:", secrets: { KEY } });
    let done = 0;
    const flow = (word: string) =>
      moduleOf("flow", async (session) =>
        perform(session.say(word, { by: "agent" }), {
          fact: { type: "step-call", name: "s", input: { key: KEY }, effect: "write" },
          effect: "write",
          act: async (): Promise<Outcome> => ({ type: "step-result", value: ++done }),
          failed: (failure) => ({ type: "step-failure", error: failure }),
        }),
      );
    await rath.run(flow("one"), rath.start("go"), { name: "n" });
    await rath.replay("n", flow("two"), { mode: "what-if" });
    expect(done).toBe(1);
    await rath.close();
  });

  it("[SE3] are found in whatever form they are passed on", () => {
    const secrets = new Secrets({ KEY, OTHER: "another-secret-value" });
    const bytes = Buffer.from(KEY, "utf8");
    const forms = [
      KEY,
      JSON.stringify(KEY),
      encodeURIComponent(KEY),
      new URLSearchParams({ KEY }).toString(),
      bytes.toString("hex"),
      bytes.toString("hex").toUpperCase(),
      ...["", "u", "us", "user:"].flatMap((before) =>
        ["", "a", "ab"].flatMap((after) => [
          Buffer.from(`${before}${KEY}${after}`).toString("base64"),
          Buffer.from(`${before}${KEY}${after}`).toString("base64url"),
        ]),
      ),
    ];
    for (const form of forms) {
      const { value, names } = secrets.conceal({ [form]: [`x ${form} y`] });
      expect(names, form).toEqual(["KEY"]);
      expect(JSON.stringify(value).split("[secret KEY]").length, form).toBe(3);
    }
    expect(secrets.conceal(`${KEY}another-secret-value${KEY}`)).toEqual({
      value: "[secret KEY][secret OTHER][secret KEY]",
      names: ["KEY", "OTHER"],
    });
  });

  it("[SE3] [SE7] are found in the encodings that the guide names, also mixed and in layers", () => {
    const value = 'tok/4f9a+77 c1"\u00fc';
    const secrets = new Secrets({ KEY: value });
    const bytes = [...Buffer.from(value, "utf8")];
    const hex = bytes.map((byte) => byte.toString(16).padStart(2, "0"));
    const units = [...value].map((sign) => sign.charCodeAt(0).toString(16).padStart(4, "0"));
    const percent = hex.map((one) => `%${one}`).join("");
    const some = bytes
      .map((byte, place) =>
        byte > 127 || place % 2 === 0
          ? `%${(hex[place] as string)[place % 4 === 0 ? "toUpperCase" : "toLowerCase"]()}`
          : String.fromCharCode(byte),
      )
      .join("");
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    const forms = {
      percent,
      PERCENT: percent.toUpperCase(),
      "some percent": some,
      "twice percent": encodeURIComponent(percent),
      "of a URL": encodeURIComponent(value),
      "of a form": new URLSearchParams({ value }).toString().slice("value=".length),
      "\\u": units.map((one) => `\\u${one}`).join(""),
      "\\U": units.map((one) => `\\u${one.toUpperCase()}`).join(""),
      "\\u{}": units.map((one) => `\\u{${Number.parseInt(one, 16).toString(16)}}`).join(""),
      "\\x": `${hex
        .slice(0, -2)
        .map((one) => `\\x${one}`)
        .join("")}\u00fc`,
      json: JSON.stringify(JSON.stringify(value)),
      html: value.replaceAll("&", "&amp;").replaceAll('"', "&quot;"),
      entities: [...value].map((sign) => `&#${sign.charCodeAt(0)};`).join(""),
      ENTITIES: [...value].map((sign) => `&#x${sign.charCodeAt(0).toString(16)};`).join(""),
      hex: hex.join(""),
      HEX: hex.join("").toUpperCase(),
      colons: hex.join(":"),
      blanks: hex.join(" ").toUpperCase(),
      base64: base64(`user:${value}!`),
      "base64 in a URL": encodeURIComponent(base64(`user:${value}!`)),
      "base64 twice": base64(base64(`user:${value}!`)),
      "base64 of UTF-16": Buffer.from(value, "utf16le").toString("base64"),
      "UTF-16": Buffer.from(value, "utf16le").toString("latin1"),
    };
    for (const [name, form] of Object.entries(forms)) {
      const { value: told, names } = secrets.conceal(`before ${form} after`);
      expect([name, names, told], name).toMatchObject([
        name,
        ["KEY"],
        expect.stringMatching(/^before .*\[secret KEY\].* after$/s),
      ]);
      // Nothing of it is left in any reading, whole or in pieces.
      for (const size of [1, 2, 3, 7]) {
        const heard: Json[] = [];
        const pieces = new Pieces(secrets, (delta) => heard.push(delta));
        const whole = `before ${form} after`;
        for (let at = 0; at < whole.length; at += size)
          pieces.take({ type: "text", text: whole.slice(at, at + size) });
        pieces.flush();
        expect([name, size, heard.map((delta) => (delta as { text: string }).text).join("")]).toEqual([
          name,
          size,
          told,
        ]);
      }
    }
    // What is plainly said not to be found.
    for (const form of [[...value].reverse().join(""), [...value].join(" "), value.toUpperCase()])
      expect(secrets.conceal(form).names).toEqual([]);
  });

  it("[SE7] cost time in proportion to the text, whatever it is made of", () => {
    const secrets = new Secrets({ KEY: "%25%25%25%25secret", OTHER: "tok-4f9a77c1" });
    const steps = (size: number): number => {
      let count = 0;
      for (const unit of ["%25", "%", "\\", "\\u0025", "&#37;", "%C3", "a"])
        count += secrets.conceal(unit.repeat(size)).value.length > 0 ? 1 : 0;
      return count;
    };
    expect(steps(200_000)).toBe(7);
  });

  it("[SE3] leave everything else as it is, and what is concealed has no secret in it", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ minLength: 6, maxLength: 20 }), { minLength: 1, maxLength: 5 }),
        fc.jsonValue(),
        fc.array(fc.nat(4), { maxLength: 5 }),
        (values, other, places) => {
          const secrets = new Secrets(Object.fromEntries(values.map((value, place) => [`S${place}`, value])));
          const said = places.map((place) => `<${values[place % values.length]}>`).join("");
          const { value, names } = secrets.conceal([said, other] as Json);
          if (names.length === 0) expect(value).toEqual([said, other]);
          const [text] = value as [string];
          if (places.length > 0) expect(names.length).toBeGreaterThan(0);
          for (const place of places) expect(text).not.toContain(`<${values[place % values.length]}>`);
        },
      ),
      { numRuns: campaign(600) },
    );
  });

  it("[SE6] that are told in pieces leave nothing of each other", () => {
    const known = { A: "abcdef", B: "abcdefghijkl", C: "efgh12", KEY, LONG: "x".repeat(3_000) };
    const secrets = new Secrets(known);
    const whole = `<abcdefghijkl> abcdefgh12 ${KEY} abcdeF ab ${known.LONG} end`;
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 200 }), (lengths) => {
        const told: Json[] = [];
        const pieces = new Pieces(secrets, (delta) => told.push(delta));
        let at = 0;
        for (const length of [...lengths, whole.length]) {
          pieces.take({ type: "text", text: whole.slice(at, at + length) });
          at += length;
        }
        pieces.flush();
        const all = told.map((delta) => (delta as { text: string }).text).join("");
        expect(all.replaceAll(/\[secret [A-Z, ]+\]/g, "*")).toBe("<*> * * abcdeF ab * end");
      }),
      { numRuns: campaign(200) },
    );
  });

  it("[SE6] that overlap leave nothing of each other", () => {
    const secrets = new Secrets({ A: "abcdefgh", B: "efghijkl", C: "klmnopqr", D: "cdefgh" });
    expect(secrets.conceal("<abcdefghijklmnopqr>")).toEqual({
      value: "<[secret A, B, C]>",
      names: ["A", "B", "C"],
    });
    expect(secrets.conceal("abcdefgh abcdefgh").value).toBe("[secret A] [secret A]");
  });

  it("[SE5] of a few characters are not looked for", () => {
    expect(new Secrets({ PIN: "1234" }).conceal("1234")).toEqual({ value: "1234", names: [] });
    expect(new Secrets({}).conceal({ a: 1 })).toEqual({ value: { a: 1 }, names: [] });
  });

  it("[SE4] a thousand of them are nowhere in the bytes of a store and of an export", async () => {
    const folder = mkdtempSync(join(tmpdir(), "openrath-secrets-"));
    try {
      const canaries = Object.fromEntries(
        Array.from({ length: 1_000 }, (_, place) => [
          `CANARY_${place}`,
          `canary-${(place * 7919).toString(36)}-${place}-value`,
        ]),
      );
      const rath = openRath({ store: `sqlite:${join(folder, "rath.db")}`, secrets: canaries });
      const values = Object.values(canaries);
      for (let from = 0; from < values.length; from += 100) {
        const some = values.slice(from, from + 100);
        await doing(
          rath,
          (attempt) => {
            attempt.record({
              type: "note",
              kind: "headers",
              headers: some.slice(0, 25).map((one) => `Basic ${Buffer.from(`u:${one}`).toString("base64")}`),
            });
            if (from % 200 === 0) throw new Error(`failed with ${some.slice(25, 50).join(", ")}`);
            return { output: some.slice(50).map((one) => `{"token":${JSON.stringify(one)}}`) };
          },
          { arguments: some.slice(0, 50) },
        );
      }
      const exported: string[] = [];
      const store = await rath.store();
      for (const { id } of await store.names())
        for await (const line of store.export(id)) exported.push(line);
      await rath.close();
      const bytes = [
        exported.join("\n"),
        ...readdirSync(folder, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile())
          .map((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1")),
      ].join("\n");
      expect(bytes).toContain("[secret CANARY_0]");
      for (const value of values) expect(bytes.includes(value)).toBe(false);
      for (const value of values)
        expect(bytes.includes(Buffer.from(`u:${value}`).toString("base64").slice(4, -4))).toBe(false);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
