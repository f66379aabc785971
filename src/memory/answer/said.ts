import type { Fact } from "../../session/index.js";
import { brief } from "./fact-line.js";

/** What a fact says, in a few words. */
export function saidBy(fact: Fact): unknown {
  const body = fact as unknown as { readonly [field: string]: unknown };
  switch (fact.type) {
    case "session-start":
      return textIn(fact.text);
    case "message-say":
    case "model-reply":
      return textIn(fact.content);
    case "tool-call":
    case "step-call":
      return `${fact.name} ${brief(fact.input)}`;
    case "tool-result":
      return fact.output;
    case "step-result":
      return fact.value;
    case "memory-read":
      return `${fact.space}: ${brief(fact.query)}`;
    case "validation-report":
      return `${fact.name}: ${fact.passed ? "passed" : "did not pass"}${fact.detail === undefined ? "" : ` (${brief(fact.detail)})`}`;
    case "route-choose":
      return fact.chosen ?? "none";
    case "approval-give":
      return `${fact.decision}${fact.why === undefined ? "" : `: ${brief(fact.why)}`}`;
    case "approval-ask":
      return fact.what;
    case "command-run":
      return `${brief(fact.command)}: ${fact.outcome}${fact.code === null ? "" : ` ${fact.code}`}`;
    case "workspace-change":
      return Array.isArray(fact.paths)
        ? fact.paths.map(({ path, change }) => `${change} ${path}`).join(", ")
        : fact.paths;
    case "record-import":
      return `${fact.format} from ${fact.source}`;
    case "memory-link":
      return `${fact.relation} ${fact.to.slice(0, 12)}`;
    case "model-call":
      return fact.model;
    case "note": {
      const { type: _, at: __, by: ___, run: ____, seq: _____, ...said } = body;
      return said;
    }
    default:
      return (
        body.text ?? body.summary ?? body.value ?? body.error ?? body.why ?? body.name ?? body.source ?? ""
      );
  }
}

/** The words of a message, or what it asks for where it has none. */
function textIn(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  const said = content.flatMap((part) => (part?.type === "text" ? [part.text] : []));
  if (said.length > 0) return said.join(" ");
  return content.map((part) => (part?.type === "tool-call" ? `calls ${part.name}` : part?.type)).join(", ");
}
