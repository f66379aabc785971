import type { Content, Json, Part, Role, Session } from "../../../session/index.js";
import { Fields, isObject, type JsonObject, wordsFor } from "../fields.js";
import { keepRest } from "../intake.js";
import { asked, denial, ended, type Outcome, partsOf } from "./tool.js";
import { byRole } from "./ui-message.js";

/** The calls and questions of a conversation, by their ids: answers to them come in later messages. */
export type Open = {
  readonly calls: Map<string, { readonly id: string; readonly name: string; readonly input: Json }>;
  readonly questions: Map<string, Session>;
};

/** Appends what a model message says. */
export function modelMessage(
  session: Session,
  message: JsonObject,
  role: Role | "tool",
  open: Open,
  left: () => void,
): Session {
  const fields = new Fields(message);
  fields.text("role");
  const content = fields.json("content");
  const list = (Array.isArray(content) ? content : []) as readonly Json[];
  const rests: { [place: string]: Json } = {};
  let next =
    role === "tool"
      ? answers(session, list, open, rests)
      : said(session, typeof content === "string" ? content : list, role, open, rests);
  if (content !== undefined && typeof content !== "string" && !Array.isArray(content))
    fields.keep("content", content);
  if (Object.keys(rests).length > 0) fields.keep("parts", rests);
  const { rest } = fields;
  if (rest === undefined) return next;
  left();
  next = keepRest(next, "message", rest);
  return next;
}

function said(
  session: Session,
  content: string | readonly Json[],
  role: Role,
  open: Open,
  rests: { [place: string]: Json },
): Session {
  const at = session.fact.at;
  if (typeof content === "string") return session.say(content, { role, at, ...byRole(role) });
  const uses: { call: string; name: string; input: Json; question?: JsonObject }[] = [];
  const parts = content.flatMap((part, index): readonly Part[] => {
    if (!isObject(part)) return [{ type: "other", value: part }];
    const fields = new Fields(part);
    const type = fields.text("type");
    if (type === "tool-approval-request") {
      const use = uses.find(({ call }) => call === part.toolCallId);
      if (use !== undefined) use.question = { id: part.approvalId ?? "", ...withoutIds(part) };
      return use === undefined ? [{ type: "other", value: part }] : [];
    }
    const made = partIn(type, fields);
    if (made === undefined) return [{ type: "other", value: part }];
    const { rest } = fields;
    if (rest !== undefined) rests[index] = rest;
    const [first] = made;
    if (first?.type === "tool-call" && !first.provider)
      uses.push({ call: first.call, name: first.name, input: first.input });
    return made;
  });
  const [only] = parts;
  const words: Content =
    parts.length === 1 && only?.type === "text" && only.meta === undefined ? only.text : parts;
  let next = session.say(words, { role, at, ...byRole(role) });
  for (const { call, name, input, question } of uses) {
    next = next.append({ type: "tool-call", name, input, call, at, ...byRole("assistant") });
    const id = next.id;
    open.calls.set(call, { id, name, input });
    if (question === undefined) continue;
    next = asked(next, id, name, input, question, at);
    open.questions.set(wordsFor(question.id), next);
  }
  return next;
}

function withoutIds({ type: _, approvalId: __, toolCallId: ___, ...rest }: JsonObject): JsonObject {
  return rest;
}

function partIn(type: string | undefined, fields: Fields): readonly Part[] | undefined {
  const meta = fields.object("providerOptions");
  const more = meta === undefined ? {} : { meta };
  const back = () => {
    if (meta !== undefined) fields.keep("providerOptions", meta);
  };
  switch (type) {
    case "text":
    case "reasoning": {
      const text = fields.text("text");
      return text === undefined ? undefined : [{ type, text, ...more }];
    }
    case "tool-call": {
      const [call, name] = [fields.text("toolCallId") ?? "", fields.text("toolName") ?? ""];
      const input = fields.json("input") ?? {};
      const provider = fields.flag("providerExecuted") === true;
      return partsOf({ call, name, input, ...(provider && { provider }), ...more });
    }
    case "tool-result": {
      const [call, name] = [fields.text("toolCallId") ?? "", fields.text("toolName") ?? ""];
      const outcome = outcomeOf(fields.json("output"));
      back();
      return "output" in outcome
        ? [{ type: "tool-result", call, name, output: outcome.output }]
        : [{ type: "tool-result", call, name, output: outcome.error.message, failed: true }];
    }
    case "file":
    case "image": {
      const data = fields.text("data") ?? fields.text("image");
      const media = fields.text("mediaType") ?? (type === "image" ? "image" : undefined);
      const name = fields.text("filename");
      if (data === undefined || media === undefined) return undefined;
      return [{ type: "file", media, data, ...(name !== undefined && { name }), ...more }];
    }
    default:
      return undefined;
  }
}

/** Results and decisions, each for the call or the question that it answers. */
function answers(
  session: Session,
  parts: readonly Json[],
  open: Open,
  rests: { [place: string]: Json },
): Session {
  const at = session.fact.at;
  let next = session;
  for (const [index, part] of parts.entries()) {
    const fields = new Fields(isObject(part) ? part : {});
    const type = fields.text("type");
    if (type === "tool-result") {
      const [call, name] = [fields.text("toolCallId") ?? "", fields.text("toolName") ?? ""];
      let known = open.calls.get(call);
      if (known === undefined) {
        next = next.append({ type: "tool-call", name, input: {}, call, at, ...byRole("assistant") });
        known = { id: next.id, name, input: {} };
      }
      open.calls.delete(call);
      next = ended(next, known.id, name, outcomeOf(fields.json("output")), at);
      if (fields.rest !== undefined) rests[index] = fields.rest;
      continue;
    }
    const question = open.questions.get(wordsFor(isObject(part) ? part.approvalId : ""));
    if (type === "tool-approval-response" && question !== undefined) {
      const approved = fields.flag("approved") === true;
      const why = fields.text("reason");
      fields.text("approvalId");
      const digest = question.fact.type === "approval-ask" ? question.fact.digest : question.id;
      next = next.append({
        type: "approval-give",
        of: question.id,
        decision: approved ? "approve" : "reject",
        digest,
        ...(why !== undefined && { why }),
        at,
        by: "user",
      });
      if (fields.rest !== undefined) rests[index] = fields.rest;
      continue;
    }
    rests[index] = part;
  }
  return next;
}

/** The ways in which the AI SDK writes what a tool gave. */
function outcomeOf(output: Json | undefined): Outcome {
  if (!isObject(output)) return { output: output ?? null };
  const { type, value = null, reason, ...more } = output;
  if (Object.keys(more).length > 0) return { output };
  switch (type) {
    case "text":
    case "json":
      return { output: value };
    case "error-text":
      return { error: { name: "ToolError", message: wordsFor(value) } };
    case "error-json":
      return { error: { name: "ToolError", message: JSON.stringify(value), data: value } };
    case "execution-denied":
      return { error: denial(reason) };
    default:
      return { output };
  }
}
