import type { FactId, Failure, Json, Part } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import type { Imported, ImportFormat, Source } from "../exchange.js";
import type { Fields } from "../fields.js";
import {
  addTo,
  amountIn,
  fieldsIn,
  fieldsOf,
  isFields,
  isTime,
  listOf,
  own,
  stringOf,
  textIn,
} from "../fields.js";
import { beginning, defineImport, type Foreign, firstLine } from "../foreign.js";
import { Arrival, contentOf, nameOf, partsIn, UNKNOWN_OUTCOME } from "../trajectory/arrival.js";
import { wordsOf } from "../trajectory/turn.js";
import type { Call, Span, Total } from "./v0.js";
import {
  condense,
  configure,
  contentIn,
  eventsOfV0,
  isV0,
  NOTE,
  NOTHING,
  parsedText,
  StoryOfV0,
} from "./v0.js";

export const openHands: ImportFormat = defineImport({
  name: "openhands",
  title: "Events of OpenHands (the software agent SDK, or trajectories of V0), one in each line or in a list",
  fits(source: Source): boolean {
    const first = firstLine(source);
    if (first !== undefined && isEvent(first)) return true;
    if (isV0(source)) return true;
    return (
      /^\s*\[\s*\{/.test(beginning(source, 64)) &&
      /"kind"\s*:\s*"\w+(Event|Condensation)"/.test(beginning(source))
    );
  },
  read,
});

function read(foreign: Foreign): Imported {
  const { source } = foreign;
  if (isV0(source)) {
    const story = new StoryOfV0(foreign, eventsOfV0(foreign));
    story.tell();
    return story.arrival.imported(nameOf(source.name));
  }
  const events = eventsIn(foreign);
  const story = new Story(foreign, events);
  for (const event of events) story.take(event);
  story.end();
  return story.arrival.imported(nameOf(source.name));
}

type Event = { readonly where: string; readonly value: Fields };

function eventsIn(foreign: Foreign): readonly Event[] {
  const events = /^\s*\[/.test(beginning(foreign.source, 64))
    ? foreign.objects(foreign.json(), "").map((value, place) => ({ where: `[${place}]`, value }))
    : foreign.lines().map(({ line, value }) => ({ where: `line ${line}`, value }));
  if (events.length === 0) foreign.refuse("", "the file is empty");
  const seen = new Set<string>();
  for (const { where, value } of events) {
    if (!isEvent(value)) foreign.refuse(where, "it is not an event: it has no kind, id and source");
    const id = String(value.id);
    if (seen.has(id)) foreign.refuse(`${where}.id`, "another event has the same id");
    seen.add(id);
  }
  return events;
}

function isEvent(value: Fields): boolean {
  return [own(value, "kind"), own(value, "id"), own(value, "source")].every((one) => typeof one === "string");
}

/** A conversation while it becomes a session. */
class Story {
  readonly arrival: Arrival;
  readonly #foreign: Foreign;
  readonly #calls = new Map<string, FactId>();
  readonly #answered = new Set<string>();
  readonly #spans = new Map<string, Span>();
  /** The actions of one answer of the model. */
  readonly #together = new Map<string, Fields[]>();
  #model = "unknown";
  /** The usage so far, and the part of it that is recorded already. */
  #used = NOTHING;
  #told = NOTHING;

  constructor(foreign: Foreign, events: readonly Event[]) {
    this.#foreign = foreign;
    for (const { value } of events) {
      const response = textIn(value, "llm_response_id");
      if (value.kind === "ActionEvent" && response !== undefined) addTo(this.#together, response, value);
    }
    const at = events.map(({ value }) => value.timestamp).find(isTime);
    this.arrival = Arrival.start(foreign, { name: "conversation", at });
  }

  take({ value, where }: Event): void {
    this.arrival.clock(value.timestamp);
    switch (value.kind) {
      case "SystemPromptEvent":
        configure(this.arrival, "agent", promptIn(value), value);
        break;
      case "MessageEvent":
        this.#message(value, where);
        break;
      case "ActionEvent":
        this.#action(value, where);
        break;
      case "ObservationEvent":
      case "UserRejectObservation":
      case "AgentErrorEvent":
        this.#observed(value);
        break;
      case "Condensation":
        this.#condensed(value);
        break;
      case "ConversationErrorEvent": {
        const of = this.arrival.add({ type: "step-call", name: "conversation" });
        const message = textIn(value, "detail", "error", "code") ?? "";
        const error = { name: "ConversationError", message, ...defined({ code: textIn(value, "code") }) };
        this.arrival.add({ type: "step-failure", of, error });
        break;
      }
      case "ConversationStateUpdateEvent":
        if (value.key === "stats") this.#stats(value.value);
    }
    if (this.arrival.span !== undefined) this.#spans.set(String(value.id), this.arrival.span);
    this.arrival.keep(NOTE, value, String(value.kind));
  }

  /** Calls without an end in the file are over all the same. */
  end(): void {
    for (const of of this.#calls.values()) this.arrival.outcome(of, { error: UNKNOWN_OUTCOME });
  }

  #message(event: Fields, where: string): void {
    const message = this.#foreign.object(own(event, "llm_message"), `${where}.llm_message`);
    const content = contentIn(own(message, "content"));
    if (event.source === "user") this.arrival.say("user", content, "user");
    else if (event.source !== "agent") this.arrival.say("system", content, "tool");
    else this.#reply([...thoughtsIn(message), ...partsIn(content)], textIn(event, "llm_response_id"));
  }

  /** Actions with one answer of the model belong together: it is told with the first of them. */
  #action(event: Fields, where: string): void {
    const response = textIn(event, "llm_response_id");
    if (response === undefined || !this.#answered.has(response)) {
      const together = response === undefined ? undefined : this.#together.get(response);
      const calls = (together ?? [event]).map(
        (one): Part => ({ type: "tool-call", ...this.#called(one, where) }),
      );
      const thought = partsIn(contentIn(own(event, "thought")));
      this.#reply([...thoughtsIn(event), ...thought, ...calls], response);
      if (response !== undefined) this.#answered.add(response);
    }
    const { call, name, input } = this.#called(event, where);
    if (this.#calls.has(call))
      this.#foreign.refuse(`${where}.tool_call_id`, "another action has the same call");
    this.#calls.set(call, this.arrival.call(name, input, call));
  }

  #called(event: Fields, where: string): Call {
    const text = own(fieldsIn(event, "tool_call"), "arguments");
    return {
      call: this.#foreign.string(own(event, "tool_call_id"), `${where}.tool_call_id`),
      name: this.#foreign.string(own(event, "tool_name"), `${where}.tool_name`),
      input: parsedText(text) ?? own(event, "action") ?? {},
    };
  }

  #reply(parts: readonly Part[], response: string | undefined): void {
    const since = (key: keyof Total): number => Math.max(0, this.#used[key] - this.#told[key]);
    const usage = {
      input: since("input"),
      output: since("output"),
      cached: since("cached"),
      reasoning: since("reasoning"),
    };
    const cost = since("cost");
    this.#told = this.#used;
    this.arrival.answer(this.#model, {
      content: contentOf(parts),
      finish: parts.some((part) => part.type === "tool-call") ? "tool-calls" : "stop",
      usage,
      cost: cost > 0 ? cost : undefined,
      response,
    });
  }

  /** An observation may come without its action, when the file begins or was cut in between. */
  #observed(event: Fields): void {
    const call = textIn(event, "tool_call_id") ?? "";
    const fields = fieldsIn(event, "observation");
    const command = textIn(fields, "command");
    const of =
      this.#calls.get(call) ??
      this.arrival.call(textIn(event, "tool_name") ?? "", defined({ command }), call || undefined);
    this.#calls.delete(call);
    this.arrival.outcome(of, outcomeIn(event, fields));
  }

  #condensed(event: Fields): void {
    const forgotten = listOf(own(event, "forgotten_event_ids"));
    const spans = forgotten.flatMap((id) => this.#spans.get(String(id)) ?? []);
    condense(this.arrival, spans, textIn(event, "summary") ?? "");
  }

  #stats(value: Json | undefined): void {
    const all = own(fieldsOf(value), "usage_to_metrics");
    if (!isFields(all)) return;
    let total = NOTHING;
    for (const [key, metrics] of Object.entries(all)) {
      if (!isFields(metrics)) continue;
      if (key === "default") this.#model = stringOf(metrics.model_name) ?? this.#model;
      const counts = fieldsIn(metrics, "accumulated_token_usage");
      total = {
        input: total.input + (amountIn(counts, "prompt_tokens") ?? 0),
        output: total.output + (amountIn(counts, "completion_tokens") ?? 0),
        cached: total.cached + (amountIn(counts, "cache_read_tokens") ?? 0),
        reasoning: total.reasoning + (amountIn(counts, "reasoning_tokens") ?? 0),
        cost: total.cost + (amountIn(metrics, "accumulated_cost") ?? 0),
      };
    }
    this.#used = total;
  }
}

function outcomeIn(
  event: Fields,
  observation: Fields,
): { readonly output: Json } | { readonly error: Failure } {
  if (event.kind === "AgentErrorEvent")
    return { error: { name: "AgentError", message: textIn(event, "error") ?? "" } };
  if (event.kind === "UserRejectObservation") {
    const message = textIn(event, "rejection_reason") ?? "";
    return { error: { name: "ToolDeniedError", message, code: "tool-denied" } };
  }
  const content = contentIn(own(observation, "content"));
  const words = wordsOf(content);
  if (observation.is_error === true) return { error: { name: "ToolError", message: words } };
  return { output: typeof content !== "string" && words === "" ? observation : words };
}

function promptIn(event: Fields): string {
  const prompt = own(event, "system_prompt");
  return (isFields(prompt) ? textIn(prompt, "text") : stringOf(prompt)) ?? "";
}

function thoughtsIn(fields: Fields): readonly Part[] {
  const text = textIn(fields, "reasoning_content") ?? "";
  return text === "" ? [] : [{ type: "reasoning", text }];
}
