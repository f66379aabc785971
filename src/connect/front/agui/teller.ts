import { within } from "../../../agent/index.js";
import { textOf } from "../../../agent/model/index.js";
import type { Observation } from "../../../runtime/index.js";
import {
  asJson,
  type FactId,
  type FactOf,
  type Json,
  type Part,
  type Session,
  type Usage,
} from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { addedUsage } from "../../format/fields.js";
import type { AguiEvent } from "./event.js";
import { outcomeText, replyBefore } from "./messages.js";
import { type PatchOperation, patched } from "./patch.js";
import { patchIn } from "./state.js";

/** A message that is being told, or that was. */
type Told = { readonly id: string; readonly subagent: FactId | undefined; readonly reasoning: boolean };
type Step = { readonly name: string; readonly subagent: FactId | undefined };

/**
 * Tells a run as AG-UI events, in the order its facts become durable; pieces of a reply come as they stream in. Facts name
 * things: a tool call and a message have the ids of the facts that they are.
 */
export class AguiTeller {
  /** The state of the app, with the patches of agents. */
  state: Json;
  readonly #send: (event: AguiEvent) => void;
  /** The calls whose results came from the front end, which has them. */
  readonly #known: ReadonlySet<FactId>;
  readonly #open = new Map<string, Told>();
  readonly #steps = new Map<FactId, Step>();
  readonly #subagents = new Map<FactId, FactId>();
  readonly #left = new Set<FactId>();
  readonly #tries = new Map<FactId, number>();
  readonly #streamed = new Set<string>();
  readonly #usage = new Map<string, Required<Usage>>();

  /**
   * @param state the state of the app before
   * @param known the calls whose results the front end brought itself
   */
  constructor(state: Json, known: ReadonlySet<FactId>, send: (event: AguiEvent) => void) {
    this.state = state;
    this.#known = known;
    this.#send = send;
  }

  hear(observation: Observation): void {
    if (observation.kind === "delta") this.#piece(observation.request, observation.delta);
    else this.#fact(observation.session);
  }

  /** Ends whatever was begun: the run is over, or waits. */
  close(waiting: boolean): void {
    for (const { id } of [...this.#open.values()]) this.#closeMessage(id);
    for (const enter of [...this.#steps.keys()].reverse()) this.#stepOut(enter);
    for (const fork of [...this.#subagents.keys()].reverse()) {
      this.#subagents.delete(fork);
      this.#send(
        waiting
          ? { type: "SUBAGENT_FINISHED", subagentRunId: fork, outcome: { type: "suspended" } }
          : { type: "SUBAGENT_ERROR", subagentRunId: fork, message: "It was cut off." },
      );
    }
  }

  get usage(): Json {
    return [...this.#usage].map(([model, { input, output, cached, reasoning }]) => ({
      model,
      inputTokens: input,
      outputTokens: output,
      totalTokens: input + output,
      ...(cached > 0 && { cachedInputTokens: cached }),
      ...(reasoning > 0 && { reasoningTokens: reasoning }),
    }));
  }

  #piece(request: Session, delta: Json): void {
    const { type, text } = Object(delta) as { readonly type?: Json; readonly text?: Json };
    if (request.fact.type !== "model-call" || typeof text !== "string") return;
    if (type !== "text" && type !== "reasoning") return;
    const subagent = this.#enter(request);
    const reply = this.#idOf(request.id);
    const reasoning = type === "reasoning";
    if (!reasoning) this.#closeMessage(`${reply}-reasoning`);
    this.#say({ id: reasoning ? `${reply}-reasoning` : reply, subagent, reasoning }, text);
    this.#streamed.add(request.id);
  }

  #fact(session: Session): void {
    const { fact } = session;
    switch (fact.type) {
      // The outermost module has no bracket of its own: the run is it.
      case "run-start":
        this.#stepIn(session.id, fact.module, undefined);
        return;
      case "run-end":
        this.#stepOut(fact.of);
        return;
      case "module-enter":
        this.#stepIn(session.id, fact.module, this.#enter(session));
        return;
      case "module-exit":
        this.#stepOut(fact.of);
        return;
      case "branch-fork":
        this.#enter(session);
        return;
      case "message-say":
        if (fact.role !== "assistant") return;
        this.#whole(session.id, textOf(fact.content), this.#enter(session));
        return;
      case "model-reply":
        this.#reply(fact, session, this.#enter(session));
        return;
      case "effect-fail":
        // The streamed text belongs to an attempt that is over; the next attempt is another message.
        this.#closeReply(fact.of);
        if (this.#streamed.delete(fact.of)) this.#tries.set(fact.of, (this.#tries.get(fact.of) ?? 0) + 1);
        return;
      case "model-failure":
        this.#closeReply(fact.of);
        return;
      case "note":
        this.#patch(patchIn(fact));
        return;
      case "tool-call":
        this.#call(session, fact, this.#enter(session));
        return;
      case "tool-result":
      case "tool-failure":
        this.#result(session, fact, this.#enter(session));
        return;
    }
  }

  #patch(patch: readonly PatchOperation[] | undefined): void {
    const next = patch === undefined ? undefined : patched(this.state, patch);
    if (patch === undefined || next === undefined || "fault" in next) return;
    this.state = next.value;
    // A patch of the whole is told as the whole.
    if (patch.some(({ path }) => path === "")) this.#send({ type: "STATE_SNAPSHOT", snapshot: next.value });
    else this.#send({ type: "STATE_DELTA", delta: asJson(patch) });
  }

  #reply(fact: FactOf<"model-reply">, session: Session, subagent: FactId | undefined): void {
    const id = this.#idOf(fact.of);
    this.#count(fact, session);
    if (this.#streamed.delete(fact.of)) {
      this.#closeReply(fact.of);
      return;
    }
    const parts: readonly Part[] = typeof fact.content === "string" ? [] : fact.content;
    const thought = parts.map((part) => (part.type === "reasoning" ? part.text : "")).join("");
    if (thought !== "") this.#whole(`${id}-reasoning`, thought, subagent, true);
    const text = textOf(fact.content);
    if (text !== "") this.#whole(id, text, subagent);
  }

  #call(session: Session, fact: FactOf<"tool-call">, subagent: FactId | undefined): void {
    const toolCallId = session.id;
    const by = subagentField(subagent);
    const parent = replyBefore(session);
    const parentMessageId = parent && this.#idOf(parent);
    const named = { toolCallName: fact.name, ...defined({ parentMessageId }) };
    this.#send({ type: "TOOL_CALL_START", toolCallId, ...named, ...by });
    this.#send({ type: "TOOL_CALL_ARGS", toolCallId, delta: JSON.stringify(fact.input), ...by });
    this.#send({ type: "TOOL_CALL_END", toolCallId, ...by });
  }

  #result(
    session: Session,
    fact: FactOf<"tool-result"> | FactOf<"tool-failure">,
    subagent: FactId | undefined,
  ): void {
    for (const [fork, call] of this.#subagents) if (call === fact.of) this.#leave(fork, fact);
    if (this.#known.has(fact.of)) return;
    this.#send({
      type: "TOOL_CALL_RESULT",
      messageId: session.id,
      toolCallId: fact.of,
      content: outcomeText(fact),
      role: "tool",
      ...subagentField(subagent),
      ...(fact.type === "tool-failure" && { metadata: { openrath: { failed: true } } }),
    });
  }

  /** The subagent that a session belongs to, told of when it is first heard from: the caller's before it. */
  #enter(session: Session): FactId | undefined {
    const fork = within(session);
    // Facts after its end do not belong to it.
    if (fork === undefined || this.#left.has(fork)) return undefined;
    if (this.#subagents.has(fork)) return fork;
    let at: Session | undefined = session;
    while (at !== undefined && at.id !== fork) at = at.parents[0];
    const call = at?.soleParent;
    if (at?.fact.type !== "branch-fork" || call === undefined) return undefined;
    const parent = this.#enter(call);
    this.#subagents.set(fork, call.id);
    this.#send({
      type: "SUBAGENT_STARTED",
      subagentRunId: fork,
      name: at.fact.name,
      parentToolCallId: call.id,
      ...(parent !== undefined && { parentSubagentRunId: parent }),
    });
    return fork;
  }

  #leave(fork: FactId, fact: FactOf<"tool-result"> | FactOf<"tool-failure">): void {
    this.#closeOf(fork);
    this.#subagents.delete(fork);
    this.#left.add(fork);
    this.#send(
      fact.type === "tool-result"
        ? { type: "SUBAGENT_FINISHED", subagentRunId: fork, outcome: { type: "success" } }
        : { type: "SUBAGENT_ERROR", subagentRunId: fork, message: fact.error.message },
    );
  }

  #stepIn(enter: FactId, module: string, subagent: FactId | undefined): void {
    const taken = new Set([...this.#steps.values()].map(({ name }) => name));
    let name = module;
    for (let place = 2; taken.has(name); place++) name = `${module}#${place}`;
    this.#steps.set(enter, { name, subagent });
    this.#send({ type: "STEP_STARTED", stepName: name, ...subagentField(subagent) });
  }

  #stepOut(enter: FactId): void {
    const step = this.#steps.get(enter);
    if (step === undefined) return;
    this.#steps.delete(enter);
    this.#send({ type: "STEP_FINISHED", stepName: step.name, ...subagentField(step.subagent) });
  }

  #whole(id: string, text: string, subagent: FactId | undefined, reasoning = false): void {
    this.#say({ id, subagent, reasoning }, text);
    this.#closeMessage(id);
  }

  #say(told: Told, delta: string): void {
    const { id: messageId, subagent, reasoning } = told;
    const by = subagentField(subagent);
    if (!this.#open.has(messageId)) {
      this.#open.set(messageId, told);
      if (reasoning) {
        this.#send({ type: "REASONING_START", messageId, ...by });
        this.#send({ type: "REASONING_MESSAGE_START", messageId, role: "reasoning", ...by });
      } else this.#send({ type: "TEXT_MESSAGE_START", messageId, role: "assistant", ...by });
    }
    const type = reasoning ? "REASONING_MESSAGE_CONTENT" : "TEXT_MESSAGE_CONTENT";
    this.#send({ type, messageId, delta, ...by });
  }

  #closeReply(request: FactId): void {
    const id = this.#idOf(request);
    this.#closeMessage(`${id}-reasoning`);
    this.#closeMessage(id);
  }

  #closeMessage(messageId: string): void {
    const told = this.#open.get(messageId);
    if (told === undefined) return;
    this.#open.delete(messageId);
    const by = subagentField(told.subagent);
    if (told.reasoning) {
      this.#send({ type: "REASONING_MESSAGE_END", messageId, ...by });
      this.#send({ type: "REASONING_END", messageId, ...by });
    } else this.#send({ type: "TEXT_MESSAGE_END", messageId, ...by });
  }

  /** Messages and steps of a subagent end with it. */
  #closeOf(subagent: FactId): void {
    for (const told of [...this.#open.values()]) if (told.subagent === subagent) this.#closeMessage(told.id);
    for (const [enter, step] of [...this.#steps].reverse())
      if (step.subagent === subagent) this.#stepOut(enter);
  }

  #idOf(request: FactId): string {
    const tries = this.#tries.get(request) ?? 0;
    return tries === 0 ? request : `${request}-${tries + 1}`;
  }

  #count({ usage, model, of }: FactOf<"model-reply">, session: Session): void {
    const name = model ?? modelOf(session, of);
    this.#usage.set(name, addedUsage(this.#usage.get(name), usage));
  }
}

function subagentField(subagentRunId: FactId | undefined): { readonly subagentRunId?: string } {
  return defined({ subagentRunId });
}

function modelOf(reply: Session, of: FactId): string {
  for (let node = reply.parents[0]; node !== undefined; node = node.parents[0])
    if (node.id === of) return node.fact.type === "model-call" ? node.fact.model : "unknown";
  return "unknown";
}
