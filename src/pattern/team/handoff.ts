import { transcriptFor } from "../../agent/model/index.js";
import { moduleTool, type Tool } from "../../agent/tool/index.js";
import type { Module } from "../../runtime/index.js";
import type { FactOf, Json, Session } from "../../session/index.js";
import { enter, workflow } from "../../workflow/index.js";
import { isStopped, lastSaid } from "./said.js";

/** What whoever hands over gets to see of the work: the last message, or all of it. */
export type HandoffOutput = "full" | "last";

/**
 * A worker as a tool of whoever leads: over to it and back, on a branch of the call. Both ways are a `route-choose` there,
 * so the branch alone tells who had the work when, and on whose word.
 */
export function handoffTo(
  lead: string,
  worker: string,
  module: Module,
  workers: readonly string[],
  output: HandoffOutput,
): Tool<never, unknown> {
  const { description } = module as { readonly description?: unknown };
  const over = workflow(`${lead} to ${worker}`, { [worker]: module }, async (session, parts) => {
    const handed = session.append({
      type: "route-choose",
      selector: lead,
      candidates: workers.map((name) => ({ name })),
      chosen: worker,
      by: `agent:${lead}`,
    });
    const done = await enter(parts[worker] as Module, handed);
    return done.append({
      type: "route-choose",
      selector: worker,
      candidates: [{ name: lead }],
      chosen: lead,
      why: isStopped(done) ? STOPPED : "it is done",
      by: `agent:${worker}`,
    });
  });
  return moduleTool(over, {
    name: transferName(worker),
    description: `Hands work to "${worker}" and waits for what comes of it.${typeof description === "string" ? ` ${description}` : ""}`,
    answer: output === "full" ? everythingIn : answerIn,
  }) as unknown as Tool<never, unknown>;
}

const STOPPED = "it reached a limit before it was done";

/** The name of the tool that hands work to a worker. */
export function transferName(worker: string): string {
  return `transfer_to_${worker}`.replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64);
}

/** What a worker said last, on the branch that it handed back. */
export function answerIn(end: Session): string {
  const { handed, back } = waysIn(end);
  const answer = lastSaid(end, handed)?.text ?? `${back.selector} handed back without a word.`;
  // What it said on the way is no answer, and nobody must take it for one.
  return back.why === STOPPED ? `${answer}\n[${back.selector}: ${STOPPED}.]` : answer;
}

/** All that a worker said and did on its branch, as messages. */
function everythingIn(end: Session): Json {
  return transcriptFor({ since: waysIn(end).handed.id }, end) as unknown as Json;
}

/** The way over to a worker and the way back, from the end of its branch. */
function waysIn(end: Session): { readonly handed: Session; readonly back: FactOf<"route-choose"> } {
  let back: FactOf<"route-choose"> | undefined;
  for (let node: Session | undefined = end; node !== undefined; node = node.soleParent ?? node.parents[0]) {
    const { fact } = node;
    if (fact.type !== "route-choose") continue;
    back ??= fact;
    if (fact.chosen === back.selector && fact.selector === back.chosen) return { handed: node, back };
  }
  throw new Error("a branch that was handed back was handed over before");
}
