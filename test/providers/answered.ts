import type { Json } from "openrath";
import type { Protocol } from "./asked.js";
import { type Exchange, eventsIn, type Fields } from "./cassette.js";

/** A piece of a reply. `own` is what the provider did with a tool of its own. */
export type Piece =
  | { readonly type: "text" | "reasoning"; readonly text: string }
  | { readonly type: "call"; readonly call: string | undefined; readonly name: string; readonly input: Json }
  | { readonly type: "own-call" | "own-result"; readonly call: string | undefined };

/** What a provider answered, read from the cassette alone. */
export type Answered = {
  readonly pieces: readonly Piece[];
  /** The provider's own word for why it ended. */
  readonly ended: string;
  readonly finish: string;
  readonly usage: {
    readonly input: number;
    readonly output: number;
    readonly cached: number;
    readonly reasoning: number;
  };
  /** The provider's own counts: in a stream, the last that came. */
  readonly counts: Fields;
  readonly model: string;
  readonly response: string;
  /** The whole body, or the events of a stream. */
  readonly raw: Json;
};

/** An error as a provider told it. */
export type Refused = { readonly status: number; readonly message: string };

export function refusedIn({ status, body }: Exchange): Refused | undefined {
  if (status < 400) return undefined;
  const { error } = JSON.parse(body) as { readonly error: { readonly message: string } };
  return { status, message: error.message };
}

export function answeredIn(protocol: Protocol, stream: boolean, exchange: Exchange): Answered {
  const events = stream ? eventsIn(exchange.body) : [JSON.parse(exchange.body) as Fields];
  const raw = stream ? (events as Json) : (events[0] as Json);
  switch (protocol) {
    case "chat":
      return { ...chat(events), raw };
    case "responses":
      return { ...responses(events), raw };
    case "anthropic":
      return { ...anthropic(stream ? blocksOf(events) : (events[0] as Fields)), raw };
    case "google":
      return { ...google(events), raw };
  }
}

type Read = Omit<Answered, "raw">;

function count(fields: Json | undefined, name: string): number {
  const value = ((fields ?? {}) as Fields)[name];
  return typeof value === "number" ? value : 0;
}

/** Words that came in several pieces are one text. */
function joined(pieces: readonly Piece[]): readonly Piece[] {
  const all: Piece[] = [];
  for (const piece of pieces) {
    const last = all.at(-1);
    if (piece.type === "text" && last?.type === "text")
      all.splice(-1, 1, { type: "text", text: last.text + piece.text });
    else if (piece.type !== "text" || piece.text !== "") all.push(piece);
  }
  return all;
}

/** Whole replies have a `message`, streams have `delta`s of it. */
function chat(events: readonly Fields[]): Read {
  let text = "";
  let ended = "";
  const calls: { id: string; name: string; input: string }[] = [];
  for (const event of events) {
    for (const choice of (event.choices ?? []) as readonly Fields[]) {
      const said = (choice.message ?? choice.delta ?? {}) as Fields;
      text += typeof said.content === "string" ? said.content : "";
      if (typeof choice.finish_reason === "string") ended = choice.finish_reason;
      ((said.tool_calls ?? []) as readonly Fields[]).forEach((call, place) => {
        const made = call.function as Fields;
        const at = typeof call.index === "number" ? call.index : place;
        const begun = calls[at] ?? { id: "", name: "", input: "" };
        calls[at] = begun;
        begun.id += call.id ?? "";
        begun.name += made.name ?? "";
        begun.input += made.arguments ?? "";
      });
    }
  }
  const counts = events.findLast((event) => event.usage)?.usage as Fields;
  return {
    pieces: joined([
      { type: "text", text },
      ...calls.map(
        ({ id, name, input }): Piece => ({ type: "call", call: id, name, input: JSON.parse(input) }),
      ),
    ]),
    ended,
    finish: { stop: "stop", tool_calls: "tool-calls", length: "length" }[ended] ?? "other",
    usage: {
      input: count(counts, "prompt_tokens"),
      output: count(counts, "completion_tokens"),
      cached: count(counts.prompt_tokens_details, "cached_tokens"),
      reasoning: count(counts.completion_tokens_details, "reasoning_tokens"),
    },
    counts,
    model: String(events[0]?.model),
    response: String(events[0]?.id),
  };
}

/** The last event of a stream holds what a whole reply is. */
function responses(events: readonly Fields[]): Read {
  const [first] = events;
  const whole = (events.find(({ type }) => type === "response.completed")?.response ?? first) as Fields;
  const pieces = ((whole.output ?? []) as readonly Fields[]).flatMap((item): readonly Piece[] => {
    if (item.type === "function_call")
      return [
        {
          type: "call",
          call: String(item.call_id),
          name: String(item.name),
          input: JSON.parse(String(item.arguments)),
        },
      ];
    return ((item.content ?? []) as readonly Fields[]).map(({ text }) => ({
      type: "text",
      text: String(text),
    }));
  });
  const counts = whole.usage as Fields;
  return {
    pieces: joined(pieces),
    ended: String((whole.incomplete_details as Fields | null)?.reason ?? ""),
    finish: pieces.some(({ type }) => type === "call") ? "tool-calls" : "stop",
    usage: {
      input: count(counts, "input_tokens"),
      output: count(counts, "output_tokens"),
      cached: count(counts.input_tokens_details, "cached_tokens"),
      reasoning: count(counts.output_tokens_details, "reasoning_tokens"),
    },
    counts,
    model: String(whole.model),
    response: String(whole.id),
  };
}

/** The events of a stream put together to the message that a whole reply is. */
function blocksOf(events: readonly Fields[]): Fields {
  const blocks: { [key: string]: Json }[] = [];
  const inputs: string[] = [];
  let message: Fields = {};
  for (const event of events) {
    const index = Number(event.index);
    const delta = (event.delta ?? {}) as Fields;
    switch (event.type) {
      case "message_start":
        message = event.message as Fields;
        break;
      case "content_block_start":
        blocks[index] = { ...(event.content_block as Fields) };
        inputs[index] = "";
        break;
      case "content_block_delta": {
        const block = blocks[index] as { [key: string]: Json };
        if (delta.type === "text_delta") block.text = `${block.text}${delta.text}`;
        if (delta.type === "thinking_delta") block.thinking = `${block.thinking}${delta.thinking}`;
        if (delta.type === "input_json_delta") inputs[index] += String(delta.partial_json);
        break;
      }
      case "content_block_stop":
        if (inputs[index]) (blocks[index] as { [key: string]: Json }).input = JSON.parse(inputs[index]);
        break;
      case "message_delta":
        message = {
          ...message,
          stop_reason: delta.stop_reason ?? null,
          usage: { ...(message.usage as Fields), ...(event.usage as Fields) },
        };
        break;
    }
  }
  return { ...message, content: blocks };
}

function anthropic(message: Fields): Read {
  const counts = message.usage as Fields;
  const ended = String(message.stop_reason);
  return {
    pieces: joined(
      (message.content as readonly Fields[]).map((block): Piece => {
        const type = String(block.type);
        if (type === "text") return { type, text: String(block.text) };
        if (type === "thinking") return { type: "reasoning", text: String(block.thinking) };
        if (type === "redacted_thinking") return { type: "reasoning", text: "" };
        if (type === "tool_use")
          return { type: "call", call: String(block.id), name: String(block.name), input: block.input ?? {} };
        if (type.endsWith("_result")) return { type: "own-result", call: String(block.tool_use_id) };
        return { type: "own-call", call: String(block.id) };
      }),
    ),
    ended,
    finish: { end_turn: "stop", tool_use: "tool-calls", max_tokens: "length" }[ended] ?? "other",
    usage: {
      input:
        count(counts, "input_tokens") +
        count(counts, "cache_creation_input_tokens") +
        count(counts, "cache_read_input_tokens"),
      output: count(counts, "output_tokens"),
      cached: count(counts, "cache_read_input_tokens"),
      reasoning: 0,
    },
    counts,
    model: String(message.model),
    response: String(message.id),
  };
}

function google(events: readonly Fields[]): Read {
  const candidates = events.flatMap((event) => (event.candidates ?? []) as readonly Fields[]);
  const parts = candidates.flatMap(({ content }) => ((content as Fields).parts ?? []) as readonly Fields[]);
  const pieces = parts.map((part): Piece => {
    if (part.functionCall !== undefined) {
      const { id, name, args } = part.functionCall as Fields;
      return {
        type: "call",
        call: typeof id === "string" ? id : undefined,
        name: String(name),
        input: args ?? {},
      };
    }
    if (part.executableCode !== undefined) return { type: "own-call", call: undefined };
    if (part.codeExecutionResult !== undefined) return { type: "own-result", call: undefined };
    if (part.toolCall !== undefined) return { type: "own-call", call: String((part.toolCall as Fields).id) };
    if (part.toolResponse !== undefined)
      return { type: "own-result", call: String((part.toolResponse as Fields).id) };
    return { type: part.thought === true ? "reasoning" : "text", text: String(part.text ?? "") };
  });
  const ended = String(candidates.findLast(({ finishReason }) => finishReason)?.finishReason);
  const counts = events.findLast((event) => event.usageMetadata)?.usageMetadata as Fields;
  const last = events.at(-1);
  return {
    pieces: joined(pieces),
    ended,
    finish: ended !== "STOP" ? "other" : pieces.some(({ type }) => type === "call") ? "tool-calls" : "stop",
    usage: {
      input: count(counts, "promptTokenCount"),
      output: count(counts, "candidatesTokenCount") + count(counts, "thoughtsTokenCount"),
      cached: count(counts, "cachedContentTokenCount"),
      reasoning: count(counts, "thoughtsTokenCount"),
    },
    counts,
    model: String(last?.modelVersion),
    response: String(last?.responseId),
  };
}
