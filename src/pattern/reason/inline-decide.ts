import type { toolboxOf } from "../../agent/index.js";
import { act } from "../../agent/index.js";
import type { Session } from "../../session/index.js";
import { allOf, joined } from "../../workflow/index.js";
import { inWords } from "./found.js";
import type { InlineToolsOptions } from "./inline.js";
import { type InlineCall, rendered, type WithCalls } from "./inline-call.js";
import { measure } from "./inline-score.js";

/** What decides about calls, checked and whole. */
export type Given = Required<
  Pick<InlineToolsOptions, "name" | "score" | "threshold" | "maxCalls" | "splice">
> & { readonly box: ReturnType<typeof toolboxOf> };

export type Decided = { readonly session: Session; readonly result: string | undefined };

/** Makes a call, measures the text with it and without it, and decides. */
export async function decide(
  session: Session,
  given: Given,
  text: WithCalls,
  call: InlineCall,
  before: readonly (string | undefined)[],
): Promise<Decided> {
  const { name, box, threshold } = given;
  const request = {
    type: "tool-call",
    call: `inline-${call.place + 1}`,
    name: call.tool,
    input: call.input,
  } as const;
  const performed = await act(session, [request], name, box, { of: () => undefined });
  const { fact } = performed;
  if (fact.type !== "tool-result") {
    const failure = fact.type === "tool-failure" ? fact.error.message : `it ended in ${fact.type}`;
    return {
      session: chosen(performed, given, "without", `${call.text} failed: ${failure}`, {}),
      result: undefined,
    };
  }
  const result = inWords(fact.output);
  const asWith = (own: string) =>
    rendered(text, (other) => (other === call ? own : kept(given, other, before[other.place])));
  const variants: { readonly [variant in Variant]: string } = {
    "with result": asWith(kept(given, call, result)),
    "call only": asWith(call.text),
    without: asWith(""),
  };
  const scores: { [variant in Variant]?: number } = {};
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
  const all = scores as { readonly [variant in Variant]: number };
  const rest = Math.max(all["call only"], all.without);
  const gain = all["with result"] - rest;
  const isKept = gain > 0 && gain >= threshold;
  const went: Variant = isKept ? "with result" : "without";
  const why = `${call.text} is ${isKept ? "kept" : "rejected"}: ${all["with result"]} with its result, ${rest} without`;
  const reported = ends.map((end, place) => {
    const variant = VARIANTS[place] as Variant;
    return end.append({
      type: "validation-report",
      name: `${name} score`,
      passed: variant === went,
      score: all[variant],
      detail: { call: call.text, variant, threshold, why },
      of: performed.id,
      by: "runtime",
    });
  });
  const merged = joined([performed, ...reported], { adopt: "ours", why: `${name}: ${why}` });
  return { session: chosen(merged, given, went, why, all), result: isKept ? result : undefined };
}

const VARIANTS = ["with result", "call only", "without"] as const;
type Variant = (typeof VARIANTS)[number];

function chosen(
  session: Session,
  { name }: Given,
  variant: Variant,
  why: string,
  scores: { readonly [variant in Variant]?: number },
): Session {
  return session.append({
    type: "route-choose",
    selector: name,
    candidates: VARIANTS.map((one) => ({
      name: one,
      ...(scores[one] !== undefined && { score: scores[one] }),
    })),
    chosen: variant,
    why,
    chooser: "score",
    by: "runtime",
  });
}

/** What stands for a call in the text: its result where it was kept, and nothing where it was not. */
export function kept({ splice }: Given, call: InlineCall, result: string | undefined): string {
  return result === undefined ? "" : String(splice(call, result));
}

export function spliced({ text }: InlineCall, result: string): string {
  return `${text.slice(0, -1)} → ${result}]`;
}
