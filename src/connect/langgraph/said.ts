import type {
  Content,
  Fact,
  FactInput,
  Json,
  Part,
  Principal,
  PrincipalKind,
  Session,
  Stamped,
  Usage,
} from "../../session/index.js";
import { canonical, isPrincipal, Withheld } from "../../session/index.js";

type Fields = { readonly [key: string]: Json };

/** A message of LangChain as it is serialised. */
export type Told = { readonly kind: string; readonly fields: Fields };

/** The calls that models asked for, by their ids: a result tells only the id. */
export type Calls = ReadonlyMap<string, { readonly name: string; readonly input: Json }>;

/** How deep in a value messages are looked for: input is an object of channels, a channel is a list of messages. */
const DEEPEST = 3;

/** The messages in a serialised value, in order. */
export function messagesIn(value: Json | undefined, depth = 0): readonly Told[] {
  if (typeof value !== "object" || value === null || depth > DEEPEST) return [];
  const one = toldIn(value);
  if (one !== undefined) return [one];
  return Object.values(value as Fields).flatMap((item) => messagesIn(item, depth + 1));
}

function toldIn(value: Json): Told | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  const { lc, type, id, kwargs } = value as Fields;
  if (lc !== 1 || type !== "constructor" || !Array.isArray(id)) return undefined;
  if (typeof kwargs !== "object" || kwargs === null || Array.isArray(kwargs)) return undefined;
  const kind = /^(Human|AI|System|Tool|Function|Chat)Message(Chunk)?$/.exec(String(id.at(-1)))?.[1];
  return kind === undefined ? undefined : { kind, fields: kwargs as Fields };
}

/** The calls of tools that a message asks for. */
export function callsIn({ kind, fields }: Told): Calls {
  const calls = new Map<string, { name: string; input: Json }>();
  if (kind === "AI" && Array.isArray(fields.tool_calls))
    for (const call of fields.tool_calls as readonly (Fields | null)[])
      if (typeof call?.id === "string" && typeof call.name === "string")
        calls.set(call.id, { name: call.name, input: call.args ?? {} });
  return calls;
}

/** Says a message in the words of the record: a reply with what it cost where that is told, a result with its call. */
export function say(session: Session, told: Told, calls: Calls, stamp: Stamped): Session {
  const { kind, fields } = told;
  if (kind === "Tool" || kind === "Function") return result(session, fields, calls, stamp);
  if (kind !== "AI") {
    const role = kind === "System" ? "system" : "user";
    return session.append({
      type: "message-say",
      role,
      content: contentOf(told),
      ...stamp,
      by: role === "user" ? "user" : "runtime:langgraph",
    });
  }
  const by = principal("agent", fields.name);
  const usage = usageOf(fields.usage_metadata);
  if (usage === undefined)
    return session.append({ type: "message-say", role: "assistant", content: contentOf(told), ...stamp, by });
  const about = (fields.response_metadata ?? {}) as Fields;
  const model = [about.model_name, about.model].find((name) => typeof name === "string") ?? "unknown";
  const asked = session.append({ type: "model-call", model: String(model), ...stamp, by });
  const finish = about.finish_reason ?? about.stop_reason;
  const reply: FactInput = {
    type: "model-reply",
    of: asked.id,
    content: contentOf(told),
    finish: typeof finish === "string" ? finish : callsIn(told).size > 0 ? "tool-calls" : "stop",
    usage,
    ...stamp,
    by: "service",
  };
  return asked.append(reply);
}

function result(session: Session, fields: Fields, calls: Calls, stamp: Stamped): Session {
  const call = typeof fields.tool_call_id === "string" ? fields.tool_call_id : "";
  const known = calls.get(call);
  const name =
    known?.name ?? (typeof fields.name === "string" && fields.name !== "" ? fields.name : "unknown");
  const asked = session.append({
    type: "tool-call",
    name,
    input: known?.input ?? {},
    ...(call !== "" && { call }),
    ...stamp,
    by: "agent",
  });
  const output = fields.content ?? null;
  return fields.status === "error"
    ? asked.append({
        type: "tool-failure",
        of: asked.id,
        error: { name: "ToolError", message: typeof output === "string" ? output : JSON.stringify(output) },
        ...stamp,
        by: principal("tool", name),
      })
    : asked.append({ type: "tool-result", of: asked.id, output, ...stamp, by: principal("tool", name) });
}

/** A name of the other system, if it can be one of ours. */
function principal(kind: PrincipalKind, name: Json | undefined): Principal {
  const whole = `${kind}:${String(name)}`;
  return typeof name === "string" && isPrincipal(whole) ? whole : kind;
}

function contentOf(told: Told): Content {
  const { content } = told.fields;
  const calls = [...callsIn(told)].map(
    ([call, { name, input }]): Part => ({ type: "tool-call", call, name, input }),
  );
  if (typeof content === "string" && calls.length === 0) return content;
  const parts =
    typeof content === "string"
      ? content === ""
        ? []
        : [{ type: "text", text: content } as const]
      : Array.isArray(content)
        ? (content as readonly Json[]).flatMap((part) => partOf(part, calls.length > 0))
        : [];
  return [...parts, ...calls];
}

function partOf(part: Json, called: boolean): readonly Part[] {
  if (typeof part === "string") return [{ type: "text", text: part }];
  const { type, text, reasoning, thinking } = (part ?? {}) as Fields;
  if (type === "text" && typeof text === "string") return [{ type: "text", text }];
  const thought = [reasoning, thinking].find((one) => typeof one === "string");
  if ((type === "reasoning" || type === "thinking") && thought !== undefined)
    return [{ type: "reasoning", text: String(thought) }];
  // The calls stand beside the content as well.
  if (called && (type === "tool_use" || type === "tool_call")) return [];
  return [{ type: "other", value: part }];
}

function usageOf(told: Json | undefined): Usage | undefined {
  const { input_token_details, output_token_details, ...counts } = (told ?? {}) as Fields;
  const { input_tokens: input, output_tokens: output } = counts;
  if (!isCount(input) || !isCount(output)) return undefined;
  const cached = ((input_token_details ?? {}) as Fields).cache_read;
  const reasoning = ((output_token_details ?? {}) as Fields).reasoning;
  return { input, output, ...(isCount(cached) && { cached }), ...(isCount(reasoning) && { reasoning }) };
}

function isCount(value: Json | undefined): value is number {
  return typeof value === "number" && value >= 0;
}

/** The texts of a fact of the conversation, in order; null where they are withheld, undefined for any other fact. */
export function textsOf(fact: Fact): readonly string[] | null | undefined {
  const content = saidBy(fact);
  if (content === undefined) return undefined;
  if (content instanceof Withheld) return null;
  if (typeof content === "string") return [content];
  return (Array.isArray(content) ? (content as readonly (Fields | string)[]) : []).flatMap((part) =>
    typeof part === "string" ? [part] : typeof part?.text === "string" ? [part.text] : [],
  );
}

/** The key of a message: equal for the same message from any source. */
export function keyOf(fact: Fact): string | undefined {
  const content = saidBy(fact);
  if (content === undefined) return undefined;
  const role = fact.type === "message-say" ? fact.role : fact.type === "model-reply" ? "assistant" : "tool";
  return content instanceof Withheld ? undefined : `${role} ${canonical(content as Json)}`;
}

/** The key of a message that is not said yet. */
export function keyOfTold(told: Told): string {
  const { kind, fields } = told;
  if (kind === "Tool" || kind === "Function") {
    const output = fields.content ?? null;
    const failed = fields.status === "error";
    return `tool ${canonical(failed && typeof output !== "string" ? JSON.stringify(output) : output)}`;
  }
  const role = kind === "AI" ? "assistant" : kind === "System" ? "system" : "user";
  return `${role} ${canonical(contentOf(told) as Json)}`;
}

function saidBy(fact: Fact): unknown {
  switch (fact.type) {
    case "message-say":
    case "model-reply":
      return fact.content;
    case "tool-result":
      return fact.output;
    case "tool-failure": {
      const error: unknown = fact.error;
      return error instanceof Withheld ? error : fact.error.message;
    }
    default:
      return undefined;
  }
}
