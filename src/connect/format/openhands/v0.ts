import type { FactId, Json, Part, Usage } from "../../../session/index.js";
import type { Source } from "../exchange.js";
import { Arrival, contentOf, isTime } from "../trajectory/arrival.js";
import { amount, beginning, type Fields, type Foreign, isFields, own } from "../trajectory/foreign.js";
import { NOTE, parsed, partsIn, textIn, toolOf } from "./part.js";

/** Whether a file is a trajectory of OpenHands before its software agent SDK (V0): actions and observations by name. */
export function isV0(source: Source): boolean {
  const text = beginning(source);
  return (
    /^\s*(\[|\{\s*"trajectory"\s*:\s*\[)\s*\{/.test(text) &&
    /"source"\s*:\s*"(user|agent|environment)"/.test(text) &&
    /"(action|observation)"\s*:\s*"\w+"/.test(text) &&
    /"(args|extras)"\s*:\s*\{/.test(text)
  );
}

/** The list of events, alone or as the answer of the server has it. */
export function eventsOfV0(foreign: Foreign): readonly Fields[] {
  const whole = foreign.json();
  const inside = isFields(whole) ? own(whole, "trajectory") : whole;
  const events = foreign.objects(inside, isFields(whole) ? "trajectory" : "");
  if (events.length === 0) foreign.refuse("", "there is nothing in it");
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
  readonly #spans = new Map<Json, { readonly from: FactId; readonly to: FactId }>();
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
      if (own(event, "action") === undefined || response.id === "") continue;
      this.#together.set(response.id, [...(this.#together.get(response.id) ?? []), event]);
    }
    const at = events.map((event) => own(event, "timestamp")).find(isTime);
    this.arrival = Arrival.start(foreign, { name: "trajectory", ...(at !== undefined && { at }) });
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
    if (action === "system") this.#configure(args);
    else if (action === "condensation") this.#condense(args);
    else if (action === "message" && !isAgent) this.arrival.say("user", textIn(args, "content"));
    else if (!isAgent) this.#call(event, action, args);
    else this.#reply(event, action, args);
  }

  #configure(args: Fields): void {
    const tools = own(args, "tools");
    this.arrival.add({
      type: "agent-configure",
      agent: textIn(args, "agent_class") || "agent",
      instructions: textIn(args, "content"),
      ...(Array.isArray(tools) &&
        tools.length > 0 && { tools: (tools as readonly Json[]).filter(isFields).map(toolOf) }),
    });
  }

  /** Actions with one answer of the model belong together: it is told with the first of them. */
  #reply(event: Fields, action: string, args: Fields): void {
    const response = responseOf(event);
    if (response.id === "" || !this.#answered.has(response.id)) {
      const together = this.#together.get(response.id) ?? [event];
      const said = action === "message" ? textIn(args, "content") : textIn(args, "thought", "final_thought");
      const calls = together
        .filter((one) => one.action !== "message")
        .map((one): Part => ({ type: "tool-call", ...callOf(one) }));
      const parts: readonly Part[] = [...partsIn(said), ...calls];
      this.arrival.answer(response.model, {
        content: contentOf(parts),
        finish: calls.length > 0 ? "tool-calls" : "stop",
        ...this.#spent(event, response.usage),
        ...(response.id !== "" && { response: response.id }),
      });
      this.#answered.add(response.id);
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

  /** What was used since the answer before, as the answer says it or as the totals do. */
  #spent(event: Fields, usage: Fields): { readonly usage: Partial<Usage>; readonly cost?: number } {
    const metrics = fieldsIn(event, "llm_metrics");
    const total = fieldsIn(metrics, "accumulated_token_usage");
    const now = {
      input: amount(own(total, "prompt_tokens")) ?? this.#told.input,
      output: amount(own(total, "completion_tokens")) ?? this.#told.output,
      cost: amount(own(metrics, "accumulated_cost")) ?? this.#told.cost,
    };
    const before = this.#told;
    this.#told = now;
    const cost = Math.max(0, now.cost - before.cost);
    const cached = amount(own(fieldsIn(usage, "prompt_tokens_details"), "cached_tokens"));
    return {
      usage: {
        input: amount(own(usage, "prompt_tokens")) ?? Math.max(0, now.input - before.input),
        output: amount(own(usage, "completion_tokens")) ?? Math.max(0, now.output - before.output),
        ...(cached !== undefined && { cached }),
      },
      ...(cost > 0 && { cost }),
    };
  }

  /** An observation may come without its action, when the file begins or was cut in between. */
  #observe(event: Fields, observation: string): void {
    const cause = own(event, "cause") ?? null;
    const words = textIn(event, "content") || textIn(event, "message");
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
    const [first, last] = [own(args, "forgotten_events_start_id"), own(args, "forgotten_events_end_id")];
    const listed = own(args, "forgotten_event_ids");
    const isForgotten = (id: Json): boolean =>
      Array.isArray(listed)
        ? (listed as readonly Json[]).includes(id)
        : typeof id === "number" &&
          typeof first === "number" &&
          typeof last === "number" &&
          id >= first &&
          id <= last;
    const spans = [...this.#spans].flatMap(([id, span]) => (isForgotten(id) ? [span] : []));
    const [from, to] = [spans[0]?.from, spans.at(-1)?.to];
    if (from === undefined || to === undefined) return;
    this.arrival.add({
      type: "context-compress",
      from,
      to,
      summary: textIn(args, "summary"),
      policy: "condensation",
    });
  }
}

/** The answer of the model that an action came from: its id, its model, what it took. */
function responseOf(event: Fields): { readonly id: string; readonly model: string; readonly usage: Fields } {
  const response = fieldsIn(fieldsIn(event, "tool_call_metadata"), "model_response");
  return {
    id: textIn(response, "id"),
    model: textIn(response, "model") || "unknown",
    usage: fieldsIn(response, "usage"),
  };
}

/** The call as the model made it, or as the action tells it. */
function callOf(event: Fields): { readonly call: string; readonly name: string; readonly input: Json } {
  const metadata = fieldsIn(event, "tool_call_metadata");
  const call = textIn(metadata, "tool_call_id");
  const choices = own(fieldsIn(metadata, "model_response"), "choices");
  const asked = (Array.isArray(choices) ? (choices as readonly Json[]) : [])
    .filter(isFields)
    .flatMap((choice) => own(fieldsIn(choice, "message"), "tool_calls") ?? [])
    .filter(isFields)
    .find((one) => own(one, "id") === call);
  const input = parsed(own(fieldsIn(asked ?? {}, "function"), "arguments"));
  return {
    call: call || `event-${String(own(event, "id") ?? "")}`,
    name: textIn(metadata, "function_name") || String(event.action),
    input: input ?? own(event, "args") ?? {},
  };
}

function fieldsIn(fields: Fields, key: string): Fields {
  const value = own(fields, key);
  return isFields(value) ? value : {};
}
