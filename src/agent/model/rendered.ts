import type { Digest, Json, Message, Session } from "../../session/index.js";
import { backFrom, canonical, digestOf, Withheld } from "../../session/index.js";
import { configOf } from "./config.js";
import { isRecord } from "./content.js";
import { NoPromptError, PromptMismatchError, WithheldPromptError } from "./error.js";
import type { Prompt, PromptMessage } from "./prompt.js";
import { messagesFor } from "./recalled.js";
import { renderPrompt } from "./render.js";
import { pastOf } from "./transcript.js";

/**
 * The exact prompt of a recorded model call, rendered again and checked against the recorded digest.
 * `session` is the call, its outcome, or anything up to the next call.
 */
export function renderedPrompt(session: Session): {
  readonly text: string;
  readonly digest: Digest;
  readonly messages: readonly PromptMessage[];
} {
  const { text, digest, messages } = promptOf(callAt(session));
  return { text, digest, messages };
}

export function promptOf(call: Session): Prompt {
  const { fact } = call;
  if (fact.type !== "model-call" || fact.config === undefined || fact.prompt === undefined)
    throw new NoPromptError(call.id, "the call does not name its configuration and prompt");
  const [before] = call.parents;
  if (before === undefined) throw new NoPromptError(call.id, "nothing came before the call");
  const configured = pastOf(before, fact.config).fact;
  if (configured.type !== "agent-configure")
    throw new NoPromptError(call.id, `its configuration is a ${configured.type}`);
  const config = configOf(configured);
  const transcript = messagesFor(config, before);
  const parameters: unknown = fact.parameters;
  const prompt = promptAsSent(renderPrompt(config, transcript), fact.parameters);
  if (prompt.digest !== fact.prompt) {
    const sent = parameters instanceof Withheld ? [parameters] : [];
    const withheld = [...sent, ...transcript.flatMap(withheldIn)];
    if (withheld.length > 0)
      throw new WithheldPromptError(`the prompt of call ${call.id.slice(0, 12)}`, withheld);
    throw new PromptMismatchError(call.id, fact.prompt, prompt.digest);
  }
  return prompt;
}

function callAt(session: Session): Session {
  const { fact } = session;
  if (fact.type === "model-reply" || fact.type === "model-failure") return pastOf(session, fact.of);
  for (const node of backFrom(session)) if (node.fact.type === "model-call") return node;
  throw new NoPromptError(session.id, "no model was called before it");
}

type Gone = { readonly reason: string; readonly digest: Digest };

function withheldIn(message: Message): readonly Gone[] {
  if (message.role === "tool") return gone(message.output) ?? gone(message.error?.data) ?? [];
  if (typeof message.content === "string") return [];
  return message.content.filter((part) => part.type === "withheld");
}

function gone(value: Json | undefined): readonly Gone[] | undefined {
  if (!isRecord(value) || typeof value.withheld !== "string") return undefined;
  return [{ reason: value.withheld, digest: String(value.digest) }];
}

/**
 * The prompt of a foreign loop beside the record's. If they differ, the call must record `parameters`: the
 * messages that were sent, or `[first, count]`.
 */
export function sentPrompt(
  own: Prompt,
  messages: readonly Json[],
): { readonly prompt: Prompt; readonly parameters?: Json } {
  const items: Json[] = [];
  let places: ReadonlyMap<string, number> | undefined;
  // The stretch of our own messages that goes on.
  let [from, next] = [0, 0];
  const close = () => {
    if (next > from) items.push([from, next - from]);
  };
  for (const message of messages) {
    if (!isSame(message, own.messages[next])) {
      close();
      places ??= new Map(own.messages.map((ours, place) => [keyOf(ours), place]));
      from = next = places.get(canonical(message)) ?? own.messages.length;
    }
    if (next === own.messages.length) items.push(message);
    else next++;
  }
  close();
  const [only] = items;
  const isOwn = items.length === 1 && Array.isArray(only) && only[0] === 0 && only[1] === own.messages.length;
  if (isOwn) return { prompt: own };
  const parameters = { messages: items };
  return { prompt: promptAsSent(own, parameters), parameters };
}

/** Mostly the bytes are the same too, which costs less to find out. */
function isSame(message: Json, ours: PromptMessage | undefined): boolean {
  if (ours === undefined) return false;
  return JSON.stringify(message) === JSON.stringify(ours) || canonical(message) === keyOf(ours);
}

const spelled = new WeakMap<PromptMessage, string>();

/** Our own messages are the same objects from call to call. */
function keyOf(message: PromptMessage): string {
  const key = spelled.get(message) ?? canonical(message as Json);
  spelled.set(message, key);
  return key;
}

/** The prompt that a call really sent, from the record's prompt and the call's `parameters`. */
export function promptAsSent(own: Prompt, parameters: Json | undefined): Prompt {
  const items = isRecord(parameters) ? parameters.messages : undefined;
  if (!Array.isArray(items)) return own;
  const messages = (items as readonly Json[]).flatMap((item) => {
    if (!Array.isArray(item)) return [item as PromptMessage];
    const [from = 0, count = 0] = item as readonly number[];
    return own.messages.slice(from, from + count);
  });
  const [head = ""] = own.text.split("\n", 1);
  const lines = messages.map((message) => canonical(message as Json));
  const text = `${[head, ...lines].join("\n")}\n`;
  return Object.freeze({
    messages: Object.freeze(messages),
    text,
    digest: digestOf(text),
    tokens: own.tokens,
    replies: messages.filter(({ role }) => role === "assistant").length,
    // It is in the words of the model that it was sent to.
    plain: true,
  });
}
