import type { AgentOptions, Callable } from "../../agent/index.js";
import { act, agent, answerOf, replaced, stopAt, toolboxOf } from "../../agent/index.js";
import type { Module } from "../../runtime/index.js";
import type { Json, Session } from "../../session/index.js";
import { defined, showValue } from "../../util/index.js";
import type { Rebuilds, Refuse } from "../../workflow/index.js";
import {
  allOf,
  called,
  defineModule,
  enter,
  functionLike,
  isModule,
  joined,
  refusing,
  requireBudget,
  requireCount,
  step,
} from "../../workflow/index.js";
import { elsewhere, moduleOr, withDefaults } from "../options.js";
import { inputFor, signatureOf, toolCalled, type Written } from "./argument.js";
import { AnswerFormError } from "./error.js";
import { inWords, reportsSince } from "./found.js";

export type InlineToolsOptions = Pick<
  AgentOptions,
  "name" | "instructions" | "model" | "parameters" | "budget" | "policy"
> & {
  /** The tools for the text. A call may prove useless, so no tool may change anything. */
  readonly tools: readonly [Callable, ...Callable[]];
  readonly score: Score;
  /** By how much the text must be better with the result than without. Default 0: better is enough. */
  readonly threshold?: number;
  /** Calls that are tried at most; the others are left out of the text, and the record says so. Default 20. */
  readonly maxCalls?: number;
  /** The text for a call that is kept. Default: `[tool(argument) → result]`. */
  readonly splice?: (call: InlineCall, result: string) => string;
};

/**
 * Tool choice as in Toolformer: a model writes a text with calls, `[tool(argument)]`. The text is scored on
 * three branches: with the result, with the call alone, and without. A call stays where its result beats both
 * by the threshold.
 *
 * ```ts
 * const writer = inlineTools({ name: "writer", model, tools: [calculator], score: (text) => likelihood(text) });
 * ```
 */
export function inlineTools(options: InlineToolsOptions): Module & Rebuilds {
  const { name, tools, score, model, instructions, parameters } = options ?? {};
  const box = toolsOf(name, tools);
  const writer = agent({
    name,
    model,
    instructions: [...(instructions === undefined ? [] : [instructions]), rulesFor(box.specs)].join("\n\n"),
    ...defined({ parameters }),
  });
  return defineModule(
    {
      kind: "inlineTools",
      name,
      example: 'inlineTools({ name: "writer", model, tools: [calculator], score: (text) => a number })',
      parts: { ...box.parts, writer, ...(isModule(score) && { scorer: score }) },
      options: withDefaults(options, {
        threshold: 0,
        maxCalls: 20,
        splice: ({ text }: InlineCall, result: string) => `${text.slice(0, -1)} → ${result}]`,
      }),
      checks: {
        ...elsewhere("name", "instructions", "parameters", "policy", "model", "tools"),
        score: moduleOr(functionLike("score: (text) => a number, or a module")),
        threshold: requireThreshold,
        maxCalls: requireCount,
        splice: functionLike("splice: (call, result) => a text"),
        budget: (budget, _, refuse) => requireBudget(budget, refuse),
      },
      learnable: ["threshold", "maxCalls"],
      limits: ({ budget, policy }) => defined({ budget, policy }),
    },
    (entered, { options: checked, parts }) => {
      const given = {
        ...checked,
        box: toolboxOf(name, replaced(tools, parts), []),
        score: parts.scorer ?? score,
      };
      return run(entered, given, parts.writer as Module);
    },
  );
}

async function run(entered: Session, given: Given, writer: Module): Promise<Session> {
  const { name, box, maxCalls } = given;
  let session = await enter(writer, entered);
  const draft = answerOf(writer, session, entered);
  // It ended at a limit, and the record says so.
  if (draft === undefined) return session;
  const text = textIn(inWords(draft), box.specs);
  const results: (string | undefined)[] = [];
  for (const call of text.calls.slice(0, maxCalls)) {
    const decided = await decide(session, given, text, call, results);
    session = decided.session;
    results.push(decided.result);
  }
  if (text.calls.length > maxCalls)
    session = stopAt(session, "calls", maxCalls, maxCalls, text.calls.length - maxCalls);
  const said = rendered(text, (call) => kept(given, call, results[call.place]));
  return session.say(said, { role: "assistant", by: `agent:${name}` });
}

function toolsOf(name: string, tools: unknown): ReturnType<typeof toolboxOf> {
  const refuse = refusing(called("inlineTools", name));
  if (!Array.isArray(tools) || tools.length === 0)
    throw refuse("it has no tools", "say what may be called in the text: tools: [calculator]");
  const box = toolboxOf(name, tools as readonly Callable[], []);
  for (const { name: own, effect } of box.tools.values())
    if (effect === "write" || effect === "idempotent")
      throw refuse(
        `its tool "${own}" changes the world (${effect}), and is tried before it is known whether it helps`,
        'give it tools that look or compute: effect: "read" or "pure"',
      );
  return box;
}

function requireThreshold(threshold: unknown, _: string, refuse: Refuse): void {
  if (!Number.isFinite(threshold) || (threshold as number) < 0)
    throw refuse(`its \`threshold\` is ${showValue(threshold)}, not a number from 0 on`, "threshold: 0.1");
}

function rulesFor(specs: readonly Written[]): string {
  const lines = specs.map((one) => `- [${signatureOf(one, ["(", ")"])}]: ${one.description ?? ""}`);
  return ["Where one of these would help your text, write the call into it, and go on:", ...lines].join("\n");
}

type Given = Required<Pick<InlineToolsOptions, "name" | "score" | "threshold" | "maxCalls" | "splice">> & {
  readonly box: ReturnType<typeof toolboxOf>;
};

async function decide(
  session: Session,
  given: Given,
  text: WithCalls,
  call: InlineCall,
  before: readonly (string | undefined)[],
): Promise<{ readonly session: Session; readonly result: string | undefined }> {
  const { name, box, threshold } = given;
  const { tool, input } = call;
  const request = { type: "tool-call", call: `inline-${call.place + 1}`, name: tool, input } as const;
  const performed = await act(session, [request], name, box, { of: () => undefined });
  const { fact } = performed;
  if (fact.type !== "tool-result") {
    const failure = fact.type === "tool-failure" ? fact.error.message : `it ended in ${fact.type}`;
    const why = `${call.text} failed: ${failure}`;
    return { session: chosen(performed, name, "without", why, {}), result: undefined };
  }
  const result = inWords(fact.output);
  const asWith = (own: string) =>
    rendered(text, (other) => (other === call ? own : kept(given, other, before[other.place])));
  const variants: { readonly [variant in Variant]: string } = {
    "with result": asWith(kept(given, call, result)),
    "call only": asWith(call.text),
    without: asWith(""),
  };
  const scores = {} as { [variant in Variant]: number };
  const ends = await allOf(
    performed,
    VARIANTS.map((variant) => ({
      branch: `call ${call.place + 1}: ${variant}`,
      why: `${name}: ${call.text}, ${variant}`,
      run: async (forked) => {
        const measured = await measure(name, given.score, variants[variant], forked);
        scores[variant] = measured.score;
        return measured.session;
      },
    })),
    undefined,
  );
  const rest = Math.max(scores["call only"], scores.without);
  const gain = scores["with result"] - rest;
  const isKept = gain > 0 && gain >= threshold;
  const went: Variant = isKept ? "with result" : "without";
  const why = `${call.text} is ${isKept ? "kept" : "rejected"}: ${scores["with result"]} with its result, ${rest} without`;
  const reported = ends.map((end, place) => {
    const variant = VARIANTS[place] as Variant;
    return end.append({
      type: "validation-report",
      name: `${name} score`,
      passed: variant === went,
      score: scores[variant],
      detail: { call: call.text, variant, threshold, why },
      of: performed.id,
      by: "runtime",
    });
  });
  const merged = joined([performed, ...reported], { adopt: "ours", why: `${name}: ${why}` });
  return { session: chosen(merged, name, went, why, scores), result: isKept ? result : undefined };
}

const VARIANTS = ["with result", "call only", "without"] as const;
type Variant = (typeof VARIANTS)[number];

function chosen(
  session: Session,
  name: string,
  variant: Variant,
  why: string,
  scores: { readonly [variant in Variant]?: number },
): Session {
  return session.append({
    type: "route-choose",
    selector: name,
    candidates: VARIANTS.map((one) => ({ name: one, ...defined({ score: scores[one] }) })),
    chosen: variant,
    why,
    chooser: "score",
    by: "runtime",
  });
}

/** The replacement of a call in the text: its result where it was kept, else nothing. */
function kept({ splice }: Given, call: InlineCall, result: string | undefined): string {
  return result === undefined ? "" : String(splice(call, result));
}

/** How good a text is: the higher the better. A module says it with the `score` of a `validation-report`. */
export type Score = ((text: string, session: Session) => number | Promise<number>) | Module;

async function measure(
  name: string,
  score: Score,
  text: string,
  forked: Session,
): Promise<{ readonly session: Session; readonly score: number }> {
  const said = forked.say(text, { role: "assistant", by: `agent:${name}` });
  if (!isModule(score)) {
    const options = { effect: "read", origin: "input" } as const;
    const measured = step(`score of ${name}`, async () => numberOf(await score(text, said)), options);
    const { session, value } = await measured.call(said);
    return { session, score: value };
  }
  const session = await enter(score, said);
  const found = reportsSince(session, said).findLast(({ fact }) => fact.score !== undefined)?.fact.score;
  const { score: own } = (answerOf(score, session, said) ?? {}) as { readonly score?: Json };
  const value = found ?? own;
  if (typeof value === "number") return { session, score: value };
  throw new AnswerFormError(
    called("inlineTools", name),
    session,
    score.name,
    showValue(value),
    "a number",
    'leave it on the record: append({ type: "validation-report", name, passed, score }), or give { score }',
  );
}

function numberOf(score: unknown): number {
  if (typeof score === "number" && Number.isFinite(score)) return score;
  throw new Error(`the score is ${showValue(score)}, not a number`);
}

/** A call that stands in a text. */
export type InlineCall = {
  /** Which of the calls it is, from 0. */
  readonly place: number;
  readonly tool: string;
  readonly input: Json;
  /** As it was written: `[tool(argument)]`. */
  readonly text: string;
};

/** A text with calls in it: what stands around them, one piece more than there are calls. */
export type WithCalls = { readonly pieces: readonly string[]; readonly calls: readonly InlineCall[] };

/** Finds the calls in a text. An unknown tool leaves plain text. A result invented by the model is dropped. */
export function textIn(text: string, tools: readonly Written[]): WithCalls {
  const pieces: string[] = [];
  const calls: InlineCall[] = [];
  let from = 0;
  for (const found of text.matchAll(CALL)) {
    const [all, name = "", json, words = ""] = found;
    const tool = toolCalled(name, tools);
    if (tool === undefined) continue;
    const argument = json ?? words;
    pieces.push(text.slice(from, found.index));
    const input = inputFor(argument, tool.input);
    calls.push({ place: calls.length, tool: tool.name, input, text: `[${name}(${argument})]` });
    from = found.index + all.length;
  }
  pieces.push(text.slice(from));
  return { pieces, calls };
}

/** The text with something in the place of each call; with nothing, no gap is left either. */
export function rendered({ pieces, calls }: WithCalls, as: (call: InlineCall) => string): string {
  let text = pieces[0] ?? "";
  for (const call of calls) {
    const own = as(call);
    const piece = pieces[call.place + 1] ?? "";
    if (own !== "") text += own + piece;
    // "a [call(x)] b" is "a b", and "a [call(x)]." is "a.".
    else if (/\s$/.test(text) && /^[\s.,;:!?)]/.test(piece)) text = text.replace(/\s$/, "") + piece;
    else text += piece;
  }
  return text;
}

/** `[name({…})]`, `[name(words)]`, with or without `→ result`. */
const CALL =
  /\[(\w[\w-]*)\((?:(\{[^\n]{0,4000}?\})|([^()\n]*(?:\([^()\n]*\)[^()\n]*)*))\)(?:\s*(?:→|->)[^\]\n]*)?\]/g;
