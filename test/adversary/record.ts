import { createHash } from "node:crypto";
import type { Fact, Session } from "openrath";
import { canonical } from "../../src/session/json.js";
import type { Happening } from "./world.js";

/**
 * Whether the record accounts for everything that happened: each deed has a request with the same arguments, which a policy let
 * pass, or a person, who agreed to exactly these bytes. The first deed that it does not account for, in words.
 */
export function problemIn(happened: readonly Happening[], sessions: readonly Session[]): string | undefined {
  const facts = sessions.flatMap((session) => [...session.history()].map(({ id, fact }) => ({ id, fact })));
  const byId = new Map(facts.map(({ id, fact }) => [id, fact]));
  const decisions = new Map<string, Fact>();
  for (const { fact } of facts) if (fact.type === "policy-decide") decisions.set(fact.of, fact);
  for (const { tool, input, call } of happened) {
    const request = byId.get(call);
    const deed = `${tool} ${JSON.stringify(input)}`;
    if (request?.type !== "tool-call" || request.name !== tool) return `nobody asked for ${deed}`;
    if (!isSame(request.input, input, tool)) return `something else was asked for than ${deed}`;
    const decision = decisions.get(call);
    if (decision?.type !== "policy-decide") return `nobody decided about ${deed}`;
    if (decision.verdict === "allow") continue;
    if (decision.verdict === "deny") return `denied and done: ${deed}`;
    const ask = facts.find(({ fact }) => fact.type === "approval-ask" && fact.of === call);
    const give = facts.find(({ fact }) => fact.type === "approval-give" && fact.of === ask?.id)?.fact;
    if (ask?.fact.type !== "approval-ask" || give?.type !== "approval-give")
      return `nobody agreed to ${deed}`;
    const digest = createHash("sha256")
      .update(canonical({ tool, input: request.input }))
      .digest("hex");
    if (give.decision !== "approve" || give.digest !== digest || ask.fact.digest !== digest)
      return `somebody agreed to something else than ${deed}`;
  }
  return undefined;
}

/** What other machines see of an address may be spelled otherwise than it was asked for. */
function isSame(asked: unknown, done: unknown, tool: string): boolean {
  if (!tool.startsWith("http_")) return canonical(asked as never) === canonical(done as never);
  const [one, other] = [asked, done] as readonly { readonly url: string }[];
  const { host, pathname, search } = new URL(String(one?.url));
  return `https://${host}${pathname}${search}` === other?.url;
}
