import type { FactId, Json, Part, Usage } from "../../../session/index.js";
import type { Imported, ImportFormat, Source } from "../exchange.js";
import { Arrival, contentOf, isTime } from "../trajectory/arrival.js";
import { amount, beginning, type Fields, Foreign, firstLine, isFields, own } from "../trajectory/foreign.js";
import { nameOf } from "../trajectory/name.js";
import { wordsOf } from "../trajectory/turn.js";
import { contentIn, NOTE, parsed, partsIn, textIn, toolOf } from "./part.js";
import { eventsOfV0, isV0, StoryOfV0 } from "./v0.js";

export const openHands: ImportFormat = {
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
  async read(source: Source): Promise<readonly Imported[]> {
    const foreign = new Foreign("openhands", source);
    return foreign.reading(() => {
      if (isV0(source)) {
        const told = new StoryOfV0(foreign, eventsOfV0(foreign));
        told.tell();
        return [told.arrival.imported(nameOf(source.name))];
      }
      const events = eventsIn(foreign);
      const story = new Story(foreign, events);
      for (const place of events.keys()) story.take(place);
      story.end();
      return [story.arrival.imported(nameOf(source.name))];
    });
  },
};

type Event = { readonly where: string; readonly value: Fields };

function eventsIn(foreign: Foreign): readonly Event[] {
  const isList = /^\s*\[/.test(beginning(foreign.source, 64));
  const events = isList
    ? foreign.objects(foreign.json(), "").map((value, place) => ({ where: `[${place}]`, value }))
    : foreign.lines().map(({ line, value }) => ({ where: `line ${line}`, value }));
  if (events.length === 0) foreign.refuse("", "there is nothing in it");
  const seen = new Set<string>();
  for (const { where, value } of events) {
    if (!isEvent(value)) foreign.refuse(where, "it is no event: it has no kind, id and source");
    const id = String(value.id);
    if (seen.has(id)) foreign.refuse(`${where}.id`, "another event has the same id");
    seen.add(id);
  }
  return events;
}

function isEvent(value: Fields): boolean {
  return [own(value, "kind"), own(value, "id"), own(value, "source")].every((one) => typeof one === "string");
}

type Total = {
  readonly input: number;
  readonly output: number;
  readonly cached: number;
  readonly reasoning: number;
  readonly cost: number;
};
const NOTHING: Total = { input: 0, output: 0, cached: 0, reasoning: 0, cost: 0 };

/** A conversation while it becomes a session. */
class Story {
  readonly arrival: Arrival;
  readonly #foreign: Foreign;
  readonly #events: readonly Event[];
  readonly #calls = new Map<string, FactId>();
  readonly #answered = new Set<string>();
  readonly #spans = new Map<string, { readonly from: FactId; readonly to: FactId }>();
  /** The actions of one answer of the model. */
  readonly #together = new Map<string, Fields[]>();
  #model = "unknown";
  /** What was used so far, and how much of that is told already. */
  #used = NOTHING;
  #told = NOTHING;

  constructor(foreign: Foreign, events: readonly Event[]) {
    this.#foreign = foreign;
    this.#events = events;
    for (const { value } of events) {
      const response = own(value, "llm_response_id");
      if (value.kind !== "ActionEvent" || typeof response !== "string") continue;
      const together = this.#together.get(response);
      if (together === undefined) this.#together.set(response, [value]);
      else together.push(value);
    }
    const at = events.map(({ value }) => own(value, "timestamp")).find(isTime);
    this.arrival = Arrival.start(foreign, { name: "conversation", ...(at !== undefined && { at }) });
  }

  take(place: number): void {
    const { value, where } = this.#events[place] as Event;
    this.arrival.clock(value.timestamp);
    switch (value.kind) {
      case "SystemPromptEvent":
        this.#configure(value);
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
        this.arrival.add({
          type: "step-failure",
          of,
          error: {
            name: "ConversationError",
            message: textIn(value, "detail", "error", "code"),
            ...code(value),
          },
        });
        break;
      }
      case "ConversationStateUpdateEvent":
        if (value.key === "stats") this.#stats(own(value, "value"));
    }
    if (this.arrival.span !== undefined) this.#spans.set(String(value.id), this.arrival.span);
    this.arrival.keep(NOTE, value, String(value.kind));
  }

  /** What the file does not say the end of is over all the same. */
  end(): void {
    for (const of of this.#calls.values())
      this.arrival.outcome(of, {
        error: {
          name: "Unknown",
          message: "The file ends before it says how this ended.",
          code: "outcome-unknown",
        },
      });
  }

  #configure(event: Fields): void {
    const prompt = own(event, "system_prompt");
    const tools = own(event, "tools");
    this.arrival.add({
      type: "agent-configure",
      agent: "agent",
      instructions: isFields(prompt) ? textIn(prompt, "text") : textIn(event, "system_prompt"),
      ...(Array.isArray(tools) &&
        tools.length > 0 && { tools: (tools as readonly Json[]).filter(isFields).map(toolOf) }),
    });
  }

  #message(event: Fields, where: string): void {
    const message = this.#foreign.object(own(event, "llm_message"), `${where}.llm_message`);
    const content = contentIn(own(message, "content"));
    const thoughts = own(message, "reasoning_content");
    if (event.source !== "agent") {
      this.arrival.say(
        event.source === "user" ? "user" : "system",
        content,
        event.source === "user" ? "user" : "tool",
      );
      return;
    }
    const thought: readonly Part[] =
      typeof thoughts === "string" && thoughts !== "" ? [{ type: "reasoning", text: thoughts }] : [];
    this.#reply([...thought, ...partsIn(content)], own(event, "llm_response_id"));
  }

  /** Actions with one answer of the model belong together: it is told with the first of them. */
  #action(event: Fields, where: string): void {
    const response = own(event, "llm_response_id");
    const isFirst = typeof response !== "string" || !this.#answered.has(response);
    if (isFirst) {
      const calls = (this.#together.get(String(response)) ?? [event]).map((one): Part => {
        const { call, name, input } = this.#called(one, where);
        return { type: "tool-call", call, name, input };
      });
      const thoughts = own(event, "reasoning_content");
      const thought: readonly Part[] =
        typeof thoughts === "string" && thoughts !== "" ? [{ type: "reasoning", text: thoughts }] : [];
      this.#reply([...thought, ...partsIn(contentIn(own(event, "thought"))), ...calls], response);
      if (typeof response === "string") this.#answered.add(response);
    }
    const { call, name, input } = this.#called(event, where);
    if (this.#calls.has(call))
      this.#foreign.refuse(`${where}.tool_call_id`, "another action has the same call");
    this.#calls.set(call, this.arrival.call(name, input, call));
  }

  #called(
    event: Fields,
    where: string,
  ): { readonly call: string; readonly name: string; readonly input: Json } {
    const given = own(event, "tool_call");
    const text = isFields(given) ? own(given, "arguments") : undefined;
    return {
      call: this.#foreign.string(own(event, "tool_call_id"), `${where}.tool_call_id`),
      name: this.#foreign.string(own(event, "tool_name"), `${where}.tool_name`),
      input: parsed(text) ?? own(event, "action") ?? {},
    };
  }

  #reply(parts: readonly Part[], response: Json | undefined): void {
    const usage: Usage = {
      input: Math.max(0, this.#used.input - this.#told.input),
      output: Math.max(0, this.#used.output - this.#told.output),
      cached: Math.max(0, this.#used.cached - this.#told.cached),
      reasoning: Math.max(0, this.#used.reasoning - this.#told.reasoning),
    };
    const cost = Math.max(0, this.#used.cost - this.#told.cost);
    this.#told = this.#used;
    this.arrival.answer(this.#model, {
      content: contentOf(parts),
      finish: parts.some((part) => part.type === "tool-call") ? "tool-calls" : "stop",
      usage,
      ...(cost > 0 && { cost }),
      ...(typeof response === "string" && { response }),
    });
  }

  /** An observation may come without its action, when the file begins or was cut in between. */
  #observed(event: Fields): void {
    const call = textIn(event, "tool_call_id");
    const observation = own(event, "observation");
    const fields = isFields(observation) ? observation : {};
    const command = own(fields, "command");
    const of =
      this.#calls.get(call) ??
      this.arrival.call(
        textIn(event, "tool_name"),
        typeof command === "string" ? { command } : {},
        call === "" ? undefined : call,
      );
    this.#calls.delete(call);
    if (event.kind === "AgentErrorEvent")
      this.arrival.outcome(of, { error: { name: "AgentError", message: textIn(event, "error") } });
    else if (event.kind === "UserRejectObservation")
      this.arrival.outcome(of, {
        error: { name: "ToolDeniedError", message: textIn(event, "rejection_reason"), code: "tool-denied" },
      });
    else {
      const content = contentIn(own(fields, "content"));
      const words = wordsOf(content);
      if (fields.is_error === true)
        this.arrival.outcome(of, { error: { name: "ToolError", message: words } });
      else
        this.arrival.outcome(of, {
          output: typeof content === "string" ? content : words === "" ? fields : words,
        });
    }
  }

  #condensed(event: Fields): void {
    const forgotten = own(event, "forgotten_event_ids");
    const spans = (Array.isArray(forgotten) ? (forgotten as readonly Json[]) : []).flatMap(
      (id) => this.#spans.get(String(id)) ?? [],
    );
    const [from, to] = [spans[0]?.from, spans.at(-1)?.to];
    if (from === undefined || to === undefined) return;
    this.arrival.add({
      type: "context-compress",
      from,
      to,
      summary: textIn(event, "summary"),
      policy: "condensation",
    });
  }

  #stats(value: Json | undefined): void {
    const all = isFields(value) ? own(value, "usage_to_metrics") : undefined;
    if (!isFields(all)) return;
    let total = NOTHING;
    for (const [key, metrics] of Object.entries(all)) {
      if (!isFields(metrics)) continue;
      if (key === "default" && typeof metrics.model_name === "string") this.#model = metrics.model_name;
      const usage = own(metrics, "accumulated_token_usage");
      const counts = isFields(usage) ? usage : {};
      total = {
        input: total.input + (amount(own(counts, "prompt_tokens")) ?? 0),
        output: total.output + (amount(own(counts, "completion_tokens")) ?? 0),
        cached: total.cached + (amount(own(counts, "cache_read_tokens")) ?? 0),
        reasoning: total.reasoning + (amount(own(counts, "reasoning_tokens")) ?? 0),
        cost: total.cost + (amount(own(metrics, "accumulated_cost")) ?? 0),
      };
    }
    this.#used = total;
  }
}

function code(fields: Fields): { readonly code?: string } {
  return typeof fields.code === "string" ? { code: fields.code } : {};
}
