import type { Content, FactId, Json, Part, Usage } from "../../../session/index.js";
import { defined, parseJson } from "../../../util/index.js";
import type { Source } from "../exchange.js";
import type { Fields } from "../fields.js";
import {
  addTo,
  amountIn,
  fieldsIn,
  isFields,
  isTime,
  listOf,
  objectsIn,
  own,
  textIn,
  toolSpec,
} from "../fields.js";
import { beginsLike, type Foreign } from "../foreign.js";
import { Arrival, contentOf, partsIn, textParts } from "../trajectory/arrival.js";

/** Whether a file is a trajectory of OpenHands before its software agent SDK (V0): actions and observations by name. */
export function isV0(source: Source): boolean {
  return beginsLike(
    source,
    /^\s*(\[|\{\s*"trajectory"\s*:\s*\[)\s*\{/,
    /"source"\s*:\s*"(user|agent|environment)"/,
    /"(action|observation)"\s*:\s*"\w+"/,
    /"(args|extras)"\s*:\s*\{/,
  );
}

/** The list of events, alone or as the answer of the server has it. */
export function eventsOfV0(foreign: Foreign): readonly Fields[] {
  const whole = foreign.json();
  const inside = isFields(whole) ? own(whole, "trajectory") : whole;
  const events = foreign.objects(inside, isFields(whole) ? "trajectory" : "");
  if (events.length === 0) foreign.refuse("", "the file is empty");
  for (const [place, event] of events.entries())
    if (typeof own(event, "action") !== "string" && typeof own(event, "observation") !== "string")
      foreign.refuse(`[${place}]`, "it is not an event: it has neither an action nor an observation");
  return events;
}

/** Events that are about the program and not about the work. */
const BESIDE: ReadonlySet<Json> = new Set(["agent_state_changed", "change_agent_state", "null", "recall"]);

/** A trajectory of V0 while it becomes a session. */
export class StoryOfV0 {
  readonly arrival: Arrival;
  readonly #events: readonly Fields[];
  /** The observation of each action, by the id of the action. */
  readonly #observed = new Set<Json>();
  readonly #calls = new Map<Json, FactId>();
  readonly #spans = new Map<Json, Span>();
  /** The actions of one answer of the model. */
  readonly #together = new Map<string, Fields[]>();
  readonly #answered = new Set<string>();
  #told = { input: 0, output: 0, cost: 0 };

  constructor(foreign: Foreign, events: readonly Fields[]) {
    this.#events = events;
    for (const event of events) {
      const cause = own(event, "cause");
      if (typeof own(event, "observation") === "string" && cause !== undefined) this.#observed.add(cause);
      const response = responseOf(event);
      if (own(event, "action") !== undefined && response.id !== "") addTo(this.#together, response.id, event);
    }
    const at = events.map(({ timestamp }) => timestamp).find(isTime);
    this.arrival = Arrival.start(foreign, { name: "trajectory", at });
  }

  tell(): void {
    for (const event of this.#events) {
      this.arrival.clock(event.timestamp);
      const { action, observation } = event;
      if (!BESIDE.has(action ?? observation ?? null)) {
        if (typeof action === "string") this.#act(event, action);
        else this.#observe(event, String(observation));
      }
      if (this.arrival.span !== undefined) this.#spans.set(own(event, "id") ?? null, this.arrival.span);
      this.arrival.keep(
        NOTE,
        event,
        `${String(action ?? observation)} ${action === undefined ? "observation" : "action"}`,
      );
    }
  }

  #act(event: Fields, action: string): void {
    const args = fieldsIn(event, "args");
    const isAgent = event.source === "agent";
    if (action === "system")
      configure(this.arrival, textIn(args, "agent_class") || "agent", textIn(args, "content") ?? "", args);
    else if (action === "condensation") this.#condense(args);
    else if (action === "message" && !isAgent) this.arrival.say("user", textIn(args, "content") ?? "");
    else if (!isAgent) this.#call(event, action, args);
    else this.#reply(event, action, args);
  }

  /** Actions with one answer of the model belong together: it is told with the first of them. */
  #reply(event: Fields, action: string, args: Fields): void {
    const { id, model, usage } = responseOf(event);
    if (id === "" || !this.#answered.has(id)) {
      const together = this.#together.get(id) ?? [event];
      const said = action === "message" ? textIn(args, "content") : textIn(args, "thought", "final_thought");
      const calls = together
        .filter((one) => one.action !== "message")
        .map((one): Part => ({ type: "tool-call", ...callOf(one) }));
      this.arrival.answer(model, {
        content: contentOf([...partsIn(said ?? ""), ...calls]),
        finish: calls.length > 0 ? "tool-calls" : "stop",
        ...this.#spent(event, usage),
        response: id || undefined,
      });
      this.#answered.add(id);
    }
    if (action !== "message") this.#call(event, action, args);
  }

  /** A call of which the file does not tell the end asks for nothing: that it was made stands in the answer. */
  #call(event: Fields, action: string, args: Fields): void {
    const id = own(event, "id") ?? null;
    if (!this.#observed.has(id) || this.#calls.has(id)) return;
    const { call, name, input } =
      event.source === "agent" ? callOf(event) : { call: undefined, name: action, input: args };
    this.#calls.set(id, this.arrival.call(name, input, call));
  }

  /** The usage since the answer before, from the answer or from the totals. */
  #spent(event: Fields, usage: Fields): { readonly usage: Partial<Usage>; readonly cost?: number } {
    const metrics = fieldsIn(event, "llm_metrics");
    const total = fieldsIn(metrics, "accumulated_token_usage");
    const now = {
      input: amountIn(total, "prompt_tokens") ?? this.#told.input,
      output: amountIn(total, "completion_tokens") ?? this.#told.output,
      cost: amountIn(metrics, "accumulated_cost") ?? this.#told.cost,
    };
    const before = this.#told;
    this.#told = now;
    const cost = Math.max(0, now.cost - before.cost);
    const cached = amountIn(fieldsIn(usage, "prompt_tokens_details"), "cached_tokens");
    return {
      usage: {
        input: amountIn(usage, "prompt_tokens") ?? Math.max(0, now.input - before.input),
        output: amountIn(usage, "completion_tokens") ?? Math.max(0, now.output - before.output),
        ...defined({ cached }),
      },
      ...(cost > 0 && { cost }),
    };
  }

  /** An observation may come without its action, when the file begins or was cut in between. */
  #observe(event: Fields, observation: string): void {
    const cause = own(event, "cause") ?? null;
    const words = textIn(event, "content") || (textIn(event, "message") ?? "");
    const known = this.#calls.get(cause);
    if (known === undefined && observation === "error") {
      this.arrival.say("user", words, "tool");
      return;
    }
    const of = known ?? this.arrival.call(observation, {});
    this.#calls.delete(cause);
    if (observation === "error") this.arrival.outcome(of, { error: { name: "AgentError", message: words } });
    else if (observation === "user_rejected")
      this.arrival.outcome(of, { error: { name: "ToolDeniedError", message: words, code: "tool-denied" } });
    else this.arrival.outcome(of, { output: words });
  }

  #condense(args: Fields): void {
    const { forgotten_events_start_id: first, forgotten_events_end_id: last } = args;
    const listed = own(args, "forgotten_event_ids");
    const isBetween = (id: Json): boolean =>
      typeof id === "number" &&
      typeof first === "number" &&
      typeof last === "number" &&
      id >= first &&
      id <= last;
    const isForgotten = (id: Json): boolean =>
      Array.isArray(listed) ? listOf(listed).includes(id) : isBetween(id);
    const spans = [...this.#spans].flatMap(([id, span]) => (isForgotten(id) ? [span] : []));
    condense(this.arrival, spans, textIn(args, "summary") ?? "");
  }
}

/** The answer of the model that an action came from: its id, its model, what it took. */
function responseOf(event: Fields): { readonly id: string; readonly model: string; readonly usage: Fields } {
  const response = fieldsIn(fieldsIn(event, "tool_call_metadata"), "model_response");
  return {
    id: textIn(response, "id") ?? "",
    model: textIn(response, "model") || "unknown",
    usage: fieldsIn(response, "usage"),
  };
}

/** The call as the model made it, or as the action tells it. */
function callOf(event: Fields): Call {
  const metadata = fieldsIn(event, "tool_call_metadata");
  const call = textIn(metadata, "tool_call_id");
  const asked = objectsIn(fieldsIn(metadata, "model_response"), "choices")
    .flatMap((choice) => objectsIn(fieldsIn(choice, "message"), "tool_calls"))
    .find((one) => call !== undefined && one.id === call);
  return {
    call: call || `event-${String(own(event, "id") ?? "")}`,
    name: textIn(metadata, "function_name") || String(event.action),
    input: parsedText(own(fieldsIn(asked ?? {}, "function"), "arguments")) ?? own(event, "args") ?? {},
  };
}

export const NOTE = "openhands event";

export type Call = { readonly call: string; readonly name: string; readonly input: Json };

/** The tokens and the cost of all models. */
export type Total = Required<Usage> & { readonly cost: number };
export const NOTHING: Total = { input: 0, output: 0, cached: 0, reasoning: 0, cost: 0 };

export function contentIn(content: Json | undefined): Content {
  if (typeof content === "string") return content;
  return contentOf(textParts(listOf(content)));
}

/** The arguments of a call, where they are JSON text. */
export function parsedText(text: Json | undefined): Json | undefined {
  return typeof text === "string" ? (parseJson(text) as Json | undefined) : undefined;
}

export function configure(arrival: Arrival, agent: string, instructions: string, event: Fields): void {
  const tools = objectsIn(event, "tools").map(toolSpec);
  arrival.add({ type: "agent-configure", agent, instructions, ...(tools.length > 0 && { tools }) });
}

/** The facts of an event, so that later events can name them. */
export type Span = { readonly from: string; readonly to: string };

/** A summary that takes the place of what these facts say. */
export function condense(arrival: Arrival, spans: readonly Span[], summary: string): void {
  const [from, to] = [spans[0]?.from, spans.at(-1)?.to];
  if (from === undefined || to === undefined) return;
  arrival.add({ type: "context-compress", from, to, summary, policy: "condensation" });
}
