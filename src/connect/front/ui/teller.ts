import { within } from "../../../agent/index.js";
import type { RunEvent } from "../../../runtime/index.js";
import {
  type Content,
  type FactId,
  type Failure,
  type Json,
  type Part,
  type Session,
  wordsOf,
} from "../../../session/index.js";
import type { UiChunk } from "./chunk.js";

/**
 * Tells the events of a run as the chunks of one message. An agent that is used as a tool is a call with its result: what
 * it says itself is not part of the message.
 */
export class UiTeller {
  readonly #send: (chunk: UiChunk) => void;
  /** The model calls whose answers belong to the message, and how many parts each has. */
  readonly #answers = new Map<FactId, number>();
  /** The part of each model call that is being told. */
  readonly #open = new Map<FactId, { readonly id: string; readonly type: "text" | "reasoning" }>();
  /** Tool calls, by the ids that the client has for them. */
  readonly #calls = new Map<FactId, string>();
  /** Inputs that are being told, with their model calls. */
  readonly #inputs = new Map<string, { readonly call: FactId; readonly toolName: string }>();
  /** The newest request to approve each call. */
  readonly #asks = new Map<FactId, FactId>();

  constructor(send: (chunk: UiChunk) => void) {
    this.#send = send;
  }

  hear(event: RunEvent): void {
    switch (event.type) {
      case "fact":
        this.#fact(event.session);
        return;
      case "text":
      case "reasoning":
        this.#say(event.call, event.type, event.text);
        return;
      case "tool-input":
        this.#input(event);
        return;
      case "retry":
        this.#retry(event.call, event.error);
        return;
      case "tool-call": {
        const toolCallId = this.#calls.get(event.id);
        if (toolCallId === undefined) return;
        this.#inputs.delete(toolCallId);
        this.#send({ type: "tool-input-available", toolCallId, toolName: event.tool, input: event.input });
        return;
      }
      case "tool-result":
        this.#result(event.id, event.output, event.error);
    }
  }

  /** The id that the client has for a tool call; a call that it was not told of is told now. */
  callId(call: Session): string | undefined {
    const known = this.#calls.get(call.id);
    if (known !== undefined || call.fact.type !== "tool-call") return known;
    const { name: toolName, input } = call.fact;
    this.#calls.set(call.id, call.id);
    this.#send({ type: "tool-input-available", toolCallId: call.id, toolName, input: input as Json });
    return call.id;
  }

  /** The call that the client means by an id. */
  callOf(id: string): FactId | undefined {
    for (const [call, toolCallId] of this.#calls) if (toolCallId === id) return call;
    return undefined;
  }

  /** Ends whatever is being told. */
  close(reason = "The run was cut off."): void {
    for (const call of [...this.#open.keys()]) this.#closePart(call);
    for (const call of [...this.#answers.keys()]) this.#giveUpInputs(call, reason);
  }

  #fact(session: Session): void {
    const { fact } = session;
    switch (fact.type) {
      case "model-call":
        if (within(session) !== undefined) return;
        this.#answers.set(session.id, 0);
        this.#send({ type: "start-step" });
        return;
      case "model-reply":
        this.#closePart(fact.of);
        if (this.#answers.has(fact.of)) this.#others(fact.content, fact.of);
        return;
      case "message-say":
        if (fact.role !== "assistant" || fact.run === undefined || within(session) !== undefined) return;
        this.#answers.set(session.id, 0);
        this.#say(session.id, "text", wordsOf(fact.content));
        this.#closePart(session.id);
        return;
      case "tool-call":
        if (within(session) === undefined) this.#calls.set(session.id, idOf(session));
        return;
      case "approval-ask":
        if (fact.of !== undefined) this.#asks.set(fact.of, session.id);
        return;
      case "run-end":
      case "run-suspend":
        this.close();
    }
  }

  #say(call: FactId, type: "text" | "reasoning", delta: string): void {
    const count = this.#answers.get(call);
    if (count === undefined) return;
    let part = this.#open.get(call);
    if (part !== undefined && part.type !== type) {
      this.#closePart(call);
      part = undefined;
    }
    if (part === undefined) {
      part = { id: `${call.slice(0, 16)}-${count}`, type };
      this.#answers.set(call, count + 1);
      this.#open.set(call, part);
      this.#send({ type: `${type}-start`, id: part.id });
    }
    this.#send({ type: `${type}-delta`, id: part.id, delta });
  }

  #closePart(call: FactId): void {
    const part = this.#open.get(call);
    if (part === undefined) return;
    this.#open.delete(call);
    this.#send({ type: `${part.type}-end`, id: part.id });
  }

  #input({ call, id, tool: toolName, text }: RunEvent & { readonly type: "tool-input" }): void {
    if (!this.#answers.has(call)) return;
    const toolCallId = callIdIn(call, id);
    if (!this.#inputs.has(toolCallId)) {
      this.#closePart(call);
      this.#inputs.set(toolCallId, { call, toolName });
      this.#send({ type: "tool-input-start", toolCallId, toolName });
    }
    this.#send({ type: "tool-input-delta", toolCallId, inputTextDelta: text });
  }

  /** The text of an attempt that failed cannot be taken back: its parts end, and the next attempt has parts of its own. */
  #retry(call: FactId, { message }: Failure): void {
    if (!this.#answers.has(call)) return;
    this.#closePart(call);
    this.#giveUpInputs(call, "The model call is tried again.");
    this.#send({ type: "data-retry", data: { call, message }, transient: true });
  }

  #giveUpInputs(of: FactId, errorText: string): void {
    for (const [toolCallId, { call, toolName }] of this.#inputs) {
      if (call !== of) continue;
      this.#inputs.delete(toolCallId);
      this.#send({ type: "tool-input-error", toolCallId, toolName, input: null, errorText });
    }
  }

  #result(call: FactId, output: Json | undefined, error: Failure | undefined): void {
    const toolCallId = this.#calls.get(call);
    if (toolCallId === undefined) return;
    const approvalId = this.#asks.get(call);
    if (error === undefined)
      this.#send({ type: "tool-output-available", toolCallId, output: output ?? null });
    else if (error.code === "rejected" && approvalId !== undefined)
      this.#send({ type: "tool-output-denied", toolCallId, approvalId, reason: error.message });
    else this.#send({ type: "tool-output-error", toolCallId, errorText: error.message });
  }

  /** The parts of an answer that do not stream: files, sources, and calls that the provider made itself. */
  #others(content: unknown, call: FactId): void {
    if (!Array.isArray(content)) return;
    for (const part of content as readonly Part[]) {
      if (part.type === "file") this.#send({ type: "file", mediaType: part.media, url: urlOf(part) });
      else if (part.type === "source") {
        const { url, title } = Object(part.source) as { readonly url?: Json; readonly title?: Json };
        if (typeof url === "string")
          this.#send({ type: "source-url", sourceId: url, url, ...(typeof title === "string" && { title }) });
      } else if (part.type === "tool-call" && part.provider === true)
        this.#send({
          type: "tool-input-available",
          toolCallId: callIdIn(call, part.call),
          toolName: part.name,
          input: part.input,
          providerExecuted: true,
        });
      else if (part.type === "tool-result") {
        const toolCallId = callIdIn(call, part.call);
        const { output } = part;
        const text = typeof output === "string" ? output : JSON.stringify(output);
        if (part.failed) this.#send({ type: "tool-output-error", toolCallId, errorText: text });
        else this.#send({ type: "tool-output-available", toolCallId, output });
      }
    }
  }
}

/** The parts of a message of a person. */
export function partsOfContent(content: Content): readonly UiChunk[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.flatMap((part): readonly UiChunk[] => {
    if (part.type === "text") return [{ type: "text", text: part.text }];
    if (part.type !== "file") return [];
    const filename = part.name === undefined ? {} : { filename: part.name };
    return [{ type: "file", mediaType: part.media, url: urlOf(part), ...filename }];
  });
}

function urlOf({ media, data }: Part & { readonly type: "file" }): string {
  return /^(?:data|https?):/i.test(data.slice(0, 8)) ? data : `data:${media};base64,${data}`;
}

/** Models number their calls as they like: with the model call in front the id is the only one in a message. */
function callIdIn(modelCall: FactId, id: string): string {
  return `${modelCall.slice(0, 16)}_${id}`;
}

/** The id of a tool call as it streamed in; the fact itself where no model asked for it. */
function idOf(call: Session): string {
  const { fact } = call;
  const id = fact.type === "tool-call" ? fact.call : undefined;
  for (let node = call.parents[0]; id !== undefined && node !== undefined; node = node.parents[0]) {
    if (node.fact.type === "model-reply") return callIdIn(node.fact.of, id);
    if (node.fact.type !== "tool-call") break;
  }
  return call.id;
}
