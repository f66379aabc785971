import { type FactId, type FactOf, type Json, type Session, wordsOf } from "../../session/index.js";
import { defined } from "../../util/index.js";
import type { Observation } from "../run/options.js";
import { Scope } from "../run/scope.js";
import { statusOf } from "../status.js";
import type { RunEvent } from "./event.js";

/** Reads JSON whose end is missing. */
export type PartialParser = (text: string) => unknown;

/** Tells what a runtime observes of a run as events. A reply that did not stream in is told as one piece. */
export class EventTeller {
  readonly #module: string;
  readonly #tell: (event: RunEvent) => void;
  readonly #parse: PartialParser;
  /** The text that has streamed in of each model call that is under way, and the length at which it is parsed again. */
  readonly #streamed = new Map<FactId, { text: string; parseAt: number }>();
  /** The names of modules that are under way, by the fact that began them. */
  readonly #modules = new Map<FactId, string>();
  /** The tools of calls that are under way. */
  readonly #tools = new Map<FactId, string>();
  /** Whether an `agent-configure` fact asks for structured output. */
  readonly #structured = new Map<FactId, boolean>();

  /** @param module the name of the outermost module */
  constructor(module: string, tell: (event: RunEvent) => void, parse: PartialParser) {
    this.#module = module;
    this.#tell = tell;
    this.#parse = parse;
  }

  hear(observation: Observation): void {
    if (observation.kind === "delta") this.#piece(observation.request, observation.delta);
    else this.#fact(observation.session);
  }

  /** The run is over, or suspended. */
  end(session: Session): void {
    const place = this.#placeOf(session);
    if (session.fact.type === "run-suspend")
      this.#tell({ type: "suspended", ...place, session, pending: session.pending });
    else this.#tell({ type: "end", ...place, session, status: statusOf(session) });
  }

  #piece(request: Session, delta: Json): void {
    const { type, text, call: id, name } = Object(delta) as { readonly [field: string]: Json | undefined };
    if (request.fact.type !== "model-call" || typeof text !== "string") return;
    const about = { ...this.#placeOf(request), call: request.id };
    if (type === "tool-input") this.#tell({ type, ...about, id: String(id), tool: String(name), text });
    if (type === "reasoning") this.#tell({ type, ...about, text });
    if (type !== "text") return;
    const streamed = this.#streamed.get(request.id) ?? { text: "", parseAt: 0 };
    this.#streamed.set(request.id, streamed);
    streamed.text += text;
    this.#tell({ type, ...about, text });
    // Parsed again when it has grown by a part of itself, so that a long answer is not parsed at every piece.
    if (streamed.text.length < streamed.parseAt) return;
    streamed.parseAt = streamed.text.length * GROWTH;
    this.#object(request, streamed.text);
  }

  #fact(session: Session): void {
    const { fact } = session;
    const place = this.#placeOf(session);
    this.#tell({ type: "fact", ...place, session });
    switch (fact.type) {
      case "run-start":
      case "module-enter":
        this.#modules.set(session.id, fact.module);
        this.#tell({ type: "module-start", ...place, module: fact.module, id: session.id, session });
        return;
      case "run-end":
      case "module-exit":
        this.#left(session, fact);
        return;
      case "model-call":
        this.#tell({ type: "model-call", ...place, call: session.id, model: fact.model, session });
        return;
      case "model-reply":
        this.#reply(session, fact);
        return;
      case "route-choose":
        this.#tell({ type: "route", ...place, chosen: fact.chosen, ...defined({ why: fact.why }), session });
        return;
      case "effect-fail":
        if (!this.#streamed.delete(fact.of)) return;
        this.#tell({ type: "retry", ...place, call: fact.of, error: fact.error });
        return;
      case "model-failure":
        this.#streamed.delete(fact.of);
        this.#tell({ type: "model-reply", ...place, call: fact.of, error: fact.error, session });
        return;
      case "tool-call":
        this.#tools.set(session.id, fact.name);
        this.#tell({ type: "tool-call", ...place, id: session.id, tool: fact.name, input: fact.input });
        return;
      case "tool-result":
      case "tool-failure": {
        const tool = this.#tools.get(fact.of) ?? nameOfCall(session, fact.of);
        this.#tools.delete(fact.of);
        const outcome = fact.type === "tool-result" ? { output: fact.output } : { error: fact.error };
        this.#tell({ type: "tool-result", ...place, id: fact.of, tool, ...outcome });
      }
    }
  }

  #left(session: Session, { of, error }: FactOf<"run-end" | "module-exit">): void {
    const known = this.#modules.get(of);
    this.#modules.delete(of);
    const began = known === undefined ? before(session, (node) => node.id === of)?.fact : undefined;
    const module = known ?? (began?.type === "module-enter" ? began.module : this.#module);
    const { branch } = session;
    this.#tell({ type: "module-end", module, branch, id: of, ...defined({ error }), session });
  }

  #reply(session: Session, fact: FactOf<"model-reply">): void {
    this.#words(session, fact);
    const { of: call, content, finish, usage, cost } = fact;
    const about = { ...this.#placeOf(session), call, text: wordsOf(content), finish, usage };
    this.#tell({ type: "model-reply", ...about, ...defined({ cost }), session });
  }

  /** The parts of a reply that did not stream in. */
  #words(session: Session, { of, content }: FactOf<"model-reply">): void {
    const request = before(session, (node) => node.id === of);
    const streamed = this.#streamed.delete(of);
    if (request !== undefined) this.#object(request, wordsOf(content));
    if (streamed) return;
    const about = { ...this.#placeOf(session), call: of };
    const thought = typeof content === "string" ? "" : content.map(reasoningIn).join("");
    if (thought !== "") this.#tell({ type: "reasoning", ...about, text: thought });
    const text = wordsOf(content);
    if (text !== "") this.#tell({ type: "text", ...about, text });
  }

  #object(request: Session, text: string): void {
    const { config } = request.fact as FactOf<"model-call">;
    if (config === undefined || !this.#isStructured(request, config)) return;
    try {
      const object = this.#parse(text) as Json;
      this.#tell({ type: "object", ...this.#placeOf(request), call: request.id, object });
    } catch {
      // Nothing of the object is there yet, or it is not JSON: the check of the whole answer tells the model.
    }
  }

  #placeOf({ host, branch }: Session): Pick<RunEvent, "module" | "branch"> {
    const path = host instanceof Scope ? host.path : [];
    return { module: path.at(-1) ?? this.#module, branch };
  }

  #isStructured(request: Session, config: FactId): boolean {
    let known = this.#structured.get(config);
    if (known === undefined) {
      const fact = before(request, (node) => node.id === config)?.fact;
      known = fact?.type === "agent-configure" && fact.output !== undefined;
      this.#structured.set(config, known);
    }
    return known;
  }
}

const GROWTH = 1.1;

function reasoningIn(part: { readonly type: string; readonly text?: unknown }): string {
  return part.type === "reasoning" ? String(part.text) : "";
}

function nameOfCall(outcome: Session, call: FactId): string {
  const fact = before(outcome, (node) => node.id === call)?.fact;
  return fact?.type === "tool-call" ? fact.name : "unknown";
}

/** The nearest session before this one that fits, along first parents. */
function before(session: Session, fits: (node: Session) => boolean): Session | undefined {
  let node = session.parents[0];
  while (node !== undefined && !fits(node)) node = node.atHorizon ? undefined : node.parents[0];
  return node;
}
