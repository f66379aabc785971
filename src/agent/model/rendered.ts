import { type Digest, type Json, type Message, type Session, Withheld } from "../../session/index.js";
import { configOf } from "./config.js";
import { isRecord } from "./content.js";
import { NoPromptError, PromptMismatchError, WithheldPromptError } from "./error.js";
import { pastOf } from "./past.js";
import type { Prompt, PromptMessage } from "./prompt.js";
import { messagesFor } from "./recalled.js";
import { renderPrompt } from "./render.js";
import { promptAsSent } from "./sent.js";

/**
 * The exact prompt of a recorded model call, rendered again from the record and checked against the digest that the
 * call recorded. `session` is the call, its outcome, or anything after it up to the next call.
 */
export function renderedPrompt(session: Session): {
  readonly text: string;
  readonly digest: Digest;
  readonly messages: readonly PromptMessage[];
} {
  const { text, digest, messages } = promptOf(callAt(session));
  return { text, digest, messages };
}

/** The same for a session that is a call. */
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
  for (let node: Session | undefined = session; node !== undefined; node = node.parents[0])
    if (node.fact.type === "model-call") return node;
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
