import { type Fact, type FactOf, type Json, jsonCopy } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import type { Fields } from "../fields.js";
import { millisecondsOf, UNKNOWN_TIME } from "../intake.js";
import type { Lines, Told } from "../trajectory/line.js";
import { errorText, textOf, wordsOf } from "../trajectory/turn.js";
import { argumentsFor, callFor, callsFor, contentFor, errorFor } from "./message.js";
import type { Prompts } from "./prompt.js";

const STOPS: ReadonlyMap<string, string> = new Map([
  ...["stop", "max_tokens", "tool_calls", "content_filter", "model_length"].map((one) => [one, one] as const),
  ["length", "max_tokens"],
  ["tool-calls", "tool_calls"],
  ["content-filter", "content_filter"],
]);
const OUTCOMES: ReadonlySet<string> = new Set(
  "model-reply model-failure tool-result tool-failure approval-give".split(" "),
);

/** The facts of a line as events of Inspect, one for each thing that happened. */
export class Events {
  readonly list: Fields[] = [];
  readonly #lines: Lines;
  readonly #prompts: Prompts;
  readonly #start: number;
  readonly #outcomes = new Map<string, Told>();
  #messages = 0;
  #spans: string[] = [];

  constructor(lines: Lines, prompts: Prompts, start: string) {
    this.#lines = lines;
    this.#prompts = prompts;
    this.#start = millisecondsOf(start);
  }

  add(line: readonly Told[]): void {
    for (const told of line)
      if (OUTCOMES.has(told.fact.type)) this.#outcomes.set((told.fact as FactOf<"tool-result">).of, told);
    for (const told of line) this.#tell(told);
  }

  #add(told: Told, event: string, fields: Fields): void {
    this.put(told.fact.at, event, fields, told);
  }

  put(at: string, event: string, fields: Fields, told?: Told): void {
    const time = at === "" ? UNKNOWN_TIME : at;
    const span = this.#spans.at(-1);
    this.list.push({
      ...(span !== undefined && { span_id: span }),
      timestamp: time,
      working_start: Math.max(0, (millisecondsOf(time) - this.#start) / 1000) || 0,
      ...(told !== undefined && {
        metadata: { openrath: { id: told.id, type: told.fact.type, by: told.fact.by } },
      }),
      event,
      ...fields,
    });
  }

  #tell(told: Told): void {
    const { fact, session, id } = told;
    const sides = fact.type === "answer-take" ? [] : this.#lines.sidesOf(session);
    for (const side of sides) {
      const span = side.head.id;
      if (side.base !== undefined)
        this.put(fact.at, "anchor", { anchor_id: side.base.id, source: "openrath" });
      this.put(fact.at, "span_begin", { id: span, name: side.head.branch, type: "branch" });
      this.#spans.push(span);
      if (side.base !== undefined) this.put(fact.at, "branch", { from_anchor: side.base.id });
      this.add(side.line);
      this.#spans.pop();
      this.put(fact.at, "span_end", { id: span });
    }
    switch (fact.type) {
      case "session-start":
        if (fact.text !== undefined) this.#said(told, { role: "user", content: contentFor(fact.text) });
        return;
      case "message-say":
        this.#said(told, { role: fact.role, content: contentFor(fact.content) });
        break;
      case "model-call":
        this.#model(told, fact, this.#outcomes.get(id));
        break;
      case "tool-call":
        this.#tool(told, fact, this.#outcomes.get(id));
        break;
      case "approval-ask":
        this.#approval(told, fact, this.#outcomes.get(id)?.fact as FactOf<"approval-give"> | undefined);
        break;
      case "model-reply":
      case "model-failure":
      case "tool-result":
      case "tool-failure":
      case "approval-give":
        return;
      case "context-compress":
        this.#add(told, "compaction", {
          type: fact.policy === "drop-outputs" ? "edit" : "summary",
          source: "openrath",
          ...counts(fact.tokens),
        });
        break;
      case "validation-report":
        this.#add(told, "score", { score: scoreFor(fact), scorer: fact.name, intermediate: true });
        break;
      case "command-run":
        this.#command(told, fact);
        break;
      case "workspace-import":
      case "workspace-change":
      case "workspace-merge":
      case "workspace-resolve":
      case "placement-change":
        this.#add(told, "state", { changes: [changeFor(fact)] });
        break;
      case "memory-write":
      case "memory-revise":
      case "memory-revoke":
      case "memory-promote":
      case "memory-expire":
        this.#add(told, "store", {
          changes: [{ op: "add", path: `/memory/${id}`, value: jsonCopy(fact), replaced: null }],
        });
        break;
      case "module-enter":
      case "run-start": {
        const type = fact.type === "run-start" ? "run" : "module";
        const parent_id = this.#spans.at(-1);
        this.#add(told, "span_begin", { id, name: fact.module, type, ...defined({ parent_id }) });
        this.#spans.push(id);
        return;
      }
      case "module-exit":
      case "run-end":
        if (this.#spans.includes(fact.of)) this.#spans = this.#spans.slice(0, this.#spans.indexOf(fact.of));
        this.#add(told, "span_end", { id: fact.of });
        if (fact.error !== undefined) this.#add(told, "error", { error: evalError(fact.error) });
        return;
      default:
        this.#add(told, "info", { source: "openrath", data: jsonCopy(fact) });
        break;
    }
  }

  #said(told: Told, message: Fields): void {
    const path = `/messages/${this.#messages++}`;
    const value = { id: told.id, ...message };
    this.#add(told, "state", { changes: [{ op: "add", path, value, replaced: null }] });
  }

  #model(told: Told, fact: FactOf<"model-call">, outcome: Told | undefined): void {
    const { input, tools } = this.#prompts.before(told.session, fact.config);
    const answer = outcome?.fact as FactOf<"model-reply"> | FactOf<"model-failure"> | undefined;
    const failed = answer?.type === "model-failure" ? errorText(answer.error) : undefined;
    const missing = answer === undefined ? "nothing was answered" : failed;
    this.#add(told, "model", {
      model: fact.model,
      ...defined({ role: fact.agent }),
      input,
      tools,
      tool_choice: "auto",
      config: {},
      output:
        answer?.type === "model-reply"
          ? outputFor(answer, fact.model, outcome?.id as string)
          : { model: fact.model, choices: [], completion: "" },
      ...defined({ error: missing }),
      ...endOf(outcome),
    });
  }

  #tool(told: Told, fact: FactOf<"tool-call">, outcome: Told | undefined): void {
    const result = outcome?.fact as FactOf<"tool-result"> | FactOf<"tool-failure"> | undefined;
    const error = result?.type === "tool-failure" ? result.error : undefined;
    this.#add(told, "tool", {
      type: "function",
      id: fact.call ?? told.id,
      function: fact.name,
      arguments: argumentsFor(fact.input),
      result: result?.type === "tool-result" ? textOf(result.output) : "",
      ...(error !== undefined && {
        error: errorFor({ name: "ToolCallError", ...(jsonCopy(error) as object), message: errorText(error) }),
        failed: true,
      }),
      events: [],
      ...endOf(outcome),
    });
  }

  #approval(told: Told, ask: FactOf<"approval-ask">, give: FactOf<"approval-give"> | undefined): void {
    const what = jsonCopy(ask.what);
    const call = (input: unknown) => callFor(ask.of ?? told.id, ask.name ?? "approval", input);
    const approved = give?.edit === undefined ? "approve" : "modify";
    const decided = give?.decision === "approve" ? approved : "reject";
    this.#add(told, "approval", {
      message: textOf(what),
      call: call(what),
      approver: give?.by ?? "nobody",
      decision: give === undefined ? "escalate" : decided,
      ...(give?.edit !== undefined && { modified: call(give.edit) }),
      ...(give?.why !== undefined && { explanation: textOf(give.why) }),
    });
  }

  #command(told: Told, fact: FactOf<"command-run">): void {
    const { command, code, stdout, stderr } = fact;
    const printed = [stdout, stderr].filter((one) => one !== undefined);
    this.#add(told, "sandbox", {
      action: "exec",
      cmd: Array.isArray(command) ? command.join(" ") : textOf(command),
      ...(code !== null && { result: Math.trunc(code) }),
      output: printed.map(textOf).join("\n"),
    });
  }
}

/** When a call was over, and how long that took. */
function endOf(outcome: Told | undefined): Fields {
  if (outcome === undefined) return {};
  const { at, milliseconds } = outcome.fact as FactOf<"model-reply">;
  return { completed: at, ...(milliseconds !== undefined && { working_time: milliseconds / 1000 }) };
}

function outputFor(reply: FactOf<"model-reply">, asked: string, id: string): Fields {
  const { content, usage, finish, cost } = reply;
  const calls = callsFor(content);
  const model = reply.model ?? asked;
  return {
    model,
    choices: [
      {
        message: {
          id,
          content: contentFor(content),
          source: "generate",
          role: "assistant",
          ...(calls.length > 0 && { tool_calls: calls }),
          model,
        },
        stop_reason: STOPS.get(finish) ?? "unknown",
      },
    ],
    completion: wordsOf(content),
    usage: usageFor(usage, cost),
    ...(reply.milliseconds !== undefined && { time: reply.milliseconds / 1000 }),
  };
}

export function usageFor(usage: FactOf<"model-reply">["usage"], cost?: number): Fields {
  const [input, output] = [Math.trunc(usage.input), Math.trunc(usage.output)];
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens: input + output,
    ...(usage.cached !== undefined && { input_tokens_cache_read: Math.trunc(usage.cached) }),
    ...(usage.reasoning !== undefined && { reasoning_tokens: Math.trunc(usage.reasoning) }),
    ...(cost !== undefined && { total_cost: cost }),
  };
}

export function scoreFor({ passed, score, detail }: FactOf<"validation-report">): Fields {
  return {
    value: score ?? (passed ? "C" : "I"),
    history: [],
    metadata: { passed, ...(detail !== undefined && { detail: jsonCopy(detail) }) },
  };
}

export function evalError(error: unknown): Fields {
  const message = errorText(error);
  return { message, traceback: message, traceback_ansi: message };
}

function counts(tokens: Json | undefined): Fields {
  const { before, after } = (jsonCopy(tokens) ?? {}) as { before?: Json; after?: Json };
  return {
    ...(typeof before === "number" && { tokens_before: Math.trunc(before) }),
    ...(typeof after === "number" && { tokens_after: Math.trunc(after) }),
  };
}

function changeFor(fact: Fact): Fields {
  const value = jsonCopy(fact) as Fields;
  if (fact.type === "placement-change")
    return { op: "replace", path: "/placement", value: fact.sandbox, replaced: null };
  return {
    op: "replace",
    path: "/workspace",
    value: value.after ?? null,
    replaced: value.before ?? value.ours ?? null,
  };
}
