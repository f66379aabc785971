import * as fc from "fast-check";
import {
  type FactInput,
  type Json,
  type Part,
  PlacementMismatchError,
  Session,
} from "../../../session/index.js";

/** One step of a random conversation; the numbers choose among the sessions made so far and what is said. */
export type Step = {
  readonly act: Act;
  readonly on: number;
  readonly and: number;
  readonly parts: readonly Part[];
};
const acts = [
  "say",
  "note",
  "reply",
  "call",
  "outcome",
  "stray",
  "fork",
  "merge",
  "compress",
  "detach",
] as const;
type Act = (typeof acts)[number];

const AT = "2026-01-01T00:00:00.000Z";
/** Few ids, so that they meet; some that no provider takes. */
const ids = ["a", "b", "c", "", "call 1", "ü".repeat(30), "x".repeat(64)];
const names = ["add", "shell", "", "web.search", "1st", "n".repeat(80)];
const words = ["hello", "", "  \n", "\ud800 half", "pair \u{1f600}", "\u2028", '{"a":1}', "tail \udc00"];
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const json: fc.Arbitrary<Json> = fc.constantFrom<Json>(
  null,
  "",
  "text \ud801",
  7,
  { ok: true },
  { "\udfff": ["deep", { "\ud800": 1 }] },
  [],
  [1, "two"],
  [{ type: "text", text: "" }],
  {
    type: "content",
    value: [
      { type: "text", text: "see" },
      { type: "media", mediaType: "image/png", data: PNG },
    ],
  },
  { content: [{ type: "image", mimeType: "image/png", data: PNG }] },
  [
    { type: "file", media: "application/pdf", data: "JVBERi0xLjQK" },
    { type: "text", text: "two" },
    { type: "text", text: "three" },
  ],
  [
    { type: "file", media: "video/mp4", data: "AAAAIGZ0eXBpc29t" },
    { type: "file", media: "audio/mpeg", data: "SUQzBAAAAAAA" },
    { type: "image-url", url: "https://example.com/a.png" },
  ],
  { withheld: "erased", digest: "0".repeat(64), size: 3 },
);
/** Not every provider takes all of them. */
const files = [
  { media: "image/png", data: PNG },
  { media: "text/plain", data: "aGVsbG8=", name: "a.txt" },
  { media: "image/png", data: "https://example.com/a.png" },
  { media: "application/pdf", data: "JVBERi0xLjQK", name: "a.pdf" },
  { media: "application/pdf", data: "https://example.com/a.pdf" },
  { media: "video/mp4", data: "AAAAIGZ0eXBpc29t", name: "a.mp4" },
  { media: "audio/ogg", data: "T2dnUwACAAAA" },
  { media: "image/svg+xml", data: "PHN2Zy8+" },
];
const metas: fc.Arbitrary<Json | undefined> = fc.constantFrom<Json | undefined>(
  undefined,
  undefined,
  { anthropic: { signature: "sig" } },
  { openai: { itemId: "item_1", reasoningEncryptedContent: "enc" } },
  { openai: { itemId: "item_2" } },
  { google: { thoughtSignature: "sig" } },
  "odd",
  { odd: 1 },
);

const part: fc.Arbitrary<Part> = fc
  .record({
    kind: fc.nat(14),
    id: fc.constantFrom(...ids),
    name: fc.constantFrom(...names),
    text: fc.constantFrom(...words),
    json,
    meta: metas,
    provider: fc.constantFrom(
      "anthropic.messages",
      "openai.responses",
      "openai.chat",
      "google.generative-ai",
    ),
  })
  .map(({ kind, id, name, text, json, meta, provider }): Part => {
    const more = meta === undefined ? {} : { meta };
    const own = {
      meta: { ...(typeof meta === "object" ? (meta as object) : {}), openrath: { provider } } as Json,
    };
    switch (kind) {
      case 0:
      case 1:
        return { type: "reasoning", text, ...more };
      case 2:
      case 3:
      case 4:
      case 5:
        return { type: "tool-call", call: id, name, input: json, ...more };
      case 6:
        return { type: "tool-call", call: id, name: "web_search", input: json, provider: true, ...own };
      case 7:
        // What a provider gave it takes back; what anybody else put there it need not know.
        return text.length % 2 === 0
          ? { type: "tool-result", call: id, name: "web_search", output: [], ...own }
          : { type: "tool-result", call: id, name: "web_search", output: json, ...more };
      case 8:
        return { type: "file", ...pick(files, text.length), ...more };
      case 9:
      case 10:
        return { type: "file", ...pick(files, id.length + name.length) };
      case 11:
        return { type: "withheld", reason: "erased", digest: "0".repeat(64) };
      case 12:
        return kind % 2 === 0 ? { type: "source", source: json } : { type: "other", value: json };
      default:
        return { type: "text", text, ...more };
    }
  });

/** Nobody in particular, the one who is asked (the config of the laws is "tester"), and others. */
const voices: readonly { readonly agent?: string }[] = [
  {},
  {},
  { agent: "tester" },
  { agent: 'a "critic"\n' },
];

/** Conversations of every kind that a record can hold: crashed, forked, merged, summed up, with results anywhere. */
export function conversations(maxLength = 25): fc.Arbitrary<readonly Step[]> {
  const step = fc.record({
    act: fc.oneof(
      { weight: 2, arbitrary: fc.constantFrom(...acts) },
      { weight: 3, arbitrary: fc.constantFrom<Act>("reply", "call", "outcome", "say") },
    ),
    on: fc.nat(),
    and: fc.nat(),
    parts: fc.array(part, { maxLength: 4 }),
  });
  return fc.array(step, { maxLength, size: "max" });
}

/** Every session that a conversation makes, in the order it was made. */
export function converse(steps: readonly Step[]): readonly Session[] {
  const made = [Session.start(steps.length % 5 === 0 ? undefined : "task", { nonce: "n", at: AT })];
  for (const step of steps) {
    const next = perform(step, (number) => chosen(made, number));
    if (next !== undefined) made.push(next);
  }
  return made;
}

function chosen(made: readonly Session[], number: number): Session {
  // Mostly the newest, so that conversations grow.
  return number % 4 === 0 ? pick(made, number >> 2) : (made.at(-1) as Session);
}

function pick<Item>(items: readonly Item[], number: number): Item {
  return items[number % items.length] as Item;
}

function perform({ act, on, and, parts }: Step, pick: (number: number) => Session): Session | undefined {
  const session = pick(on);
  const other = pick(and);
  const output = (parts[0]?.type === "tool-call" ? parts[0].input : and) as Json;
  switch (act) {
    case "say":
      return session.say(parts, { at: AT });
    case "note":
      return session.say(parts, { at: AT, role: "system" });
    case "reply": {
      const usage = { input: 1, output: 1 };
      return session.append({
        type: "model-reply",
        of: session.id,
        content: parts,
        finish: "stop",
        usage,
        at: AT,
        ...voices[and % voices.length],
      });
    }
    case "call": {
      // What the last reply asks for, in any order and not always all of it.
      const asked = session.transcript.flatMap((message) =>
        message.role === "assistant" && typeof message.content !== "string" ? message.content : [],
      );
      const calls = asked.filter((one) => one.type === "tool-call");
      const call = calls.at(-1 - (and % Math.min(3, Math.max(1, calls.length))));
      if (call?.type !== "tool-call") return undefined;
      const { name, input } = call;
      const { agent } = voices[and % voices.length] ?? {};
      const by = agent === undefined ? {} : { by: `agent:${agent}` as const };
      return session.append({ type: "tool-call", name, input, call: call.call, at: AT, ...by });
    }
    case "outcome": {
      const of = session.pending[and % Math.max(1, session.pending.length)]?.id;
      return of === undefined ? undefined : session.append(outcome(of, output, and));
    }
    case "stray":
      return session.append(outcome(other.id, output, and));
    case "fork":
      return session.fork(`b${on}`, { at: AT });
    case "merge":
      try {
        return session.id === other.id
          ? undefined
          : session.merge(other, { at: AT, adopt: on % 3 === 0 ? "theirs" : "both" });
      } catch (error) {
        if (error instanceof PlacementMismatchError) return undefined;
        throw error;
      }
    case "compress": {
      const past = [...session.history()];
      const from = (past[and % past.length] as Session).id;
      const to = (past.at(-1 - (on % Math.min(4, past.length))) as Session).id;
      return session.append({
        type: "context-compress",
        from,
        to,
        summary: `summary ${on % 10}`,
        ...(on % 3 === 0 && { policy: "drop-outputs" }),
        at: AT,
      });
    }
    case "detach":
      return and % 5 === 0 ? session.detach({ at: AT }) : undefined;
  }
}

function outcome(of: string, output: Json, how: number): FactInput {
  return how % 3 === 0
    ? { type: "tool-failure", of, error: { name: "Error", message: String(output) }, at: AT }
    : { type: "tool-result", of, output, at: AT };
}
