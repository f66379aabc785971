import type { FactId, Json, Part, Role } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { FieldReader, type Fields, fieldsOf, isFields, listOf, wordsFor } from "../fields.js";
import { type Arrival, plainContent } from "../trajectory/arrival.js";
import {
  denial,
  type Outcome,
  partsOf,
  type Question,
  resultPart,
  tellAnswer,
  tellOutcome,
  tellQuestion,
} from "./tool.js";
import { speaker } from "./ui-message.js";

type Rests = { [place: string]: Json };

/** The model messages of a chat: results and decisions are in later messages than the calls that they are about. */
export class ModelMessages {
  readonly #arrival: Arrival;
  /** Calls without a result, by the ids that the chat gives them. */
  readonly #calls = new Map<string, FactId>();
  readonly #questions = new Map<string, Question>();

  constructor(arrival: Arrival) {
    this.#arrival = arrival;
  }

  /** Tells what a message says; `left` is called when some of it went into a note. */
  tell(message: Fields, role: Role | "tool", left: () => void): void {
    const fields = new FieldReader(message);
    fields.text("role");
    const content = fields.json("content");
    const rests: Rests = {};
    if (role === "tool") this.#answers(listOf(content), rests);
    else if (typeof content === "string") this.#arrival.say(role, content, speaker(role));
    else this.#say(listOf(content), role, rests);
    if (typeof content !== "string" && !Array.isArray(content)) fields.keep("content", content);
    if (Object.keys(rests).length > 0) fields.keep("parts", rests);
    if (fields.rest !== undefined) left();
    this.#arrival.rest("message", fields.rest);
  }

  #say(content: readonly Json[], role: Role, rests: Rests): void {
    const uses: { call: string; name: string; input: Json; question?: Fields }[] = [];
    const parts = content.flatMap((part, index): readonly Part[] => {
      if (!isFields(part)) return [{ type: "other", value: part }];
      const fields = new FieldReader(part);
      const type = fields.text("type");
      if (type === "tool-approval-request") {
        const use = uses.find(({ call }) => call === part.toolCallId);
        if (use !== undefined) use.question = { id: part.approvalId ?? "", ...withoutIds(part) };
        return use === undefined ? [{ type: "other", value: part }] : [];
      }
      const made = partsIn(type, fields);
      if (made === undefined) return [{ type: "other", value: part }];
      const { rest } = fields;
      if (rest !== undefined) rests[index] = rest;
      const [first] = made;
      if (first?.type === "tool-call" && !first.provider)
        uses.push({ call: first.call, name: first.name, input: first.input });
      return made;
    });
    this.#arrival.say(role, plainContent(parts), speaker(role));
    for (const { call, name, input, question } of uses) {
      const id = this.#arrival.call(name, input, call, "assistant");
      this.#calls.set(call, id);
      if (question === undefined) continue;
      this.#questions.set(wordsFor(question.id), tellQuestion(this.#arrival, id, name, input, question));
    }
  }

  /** Results and decisions, each for the call or the question that it answers. */
  #answers(parts: readonly Json[], rests: Rests): void {
    for (const [index, part] of parts.entries()) {
      const fields = new FieldReader(fieldsOf(part));
      const type = fields.text("type");
      const question = this.#questions.get(wordsFor(isFields(part) ? part.approvalId : ""));
      if (type === "tool-result") {
        const [call, name] = [fields.text("toolCallId") ?? "", fields.text("toolName") ?? ""];
        const of = this.#calls.get(call) ?? this.#arrival.call(name, {}, call, "assistant");
        this.#calls.delete(call);
        tellOutcome(this.#arrival, of, name, outcomeOf(fields.json("output")));
      } else if (type === "tool-approval-response" && question !== undefined) {
        const approved = fields.flag("approved") === true;
        const why = fields.text("reason");
        fields.text("approvalId");
        tellAnswer(this.#arrival, question, { approved, why });
      } else {
        rests[index] = part;
        continue;
      }
      if (fields.rest !== undefined) rests[index] = fields.rest;
    }
  }
}

function withoutIds({ type: _, approvalId: __, toolCallId: ___, ...rest }: Fields): Fields {
  return rest;
}

function partsIn(type: string | undefined, fields: FieldReader): readonly Part[] | undefined {
  const meta = fields.object("providerOptions");
  switch (type) {
    case "text":
    case "reasoning": {
      const text = fields.text("text");
      return text === undefined ? undefined : [{ type, text, ...defined({ meta }) }];
    }
    case "tool-call": {
      const [call, name] = [fields.text("toolCallId") ?? "", fields.text("toolName") ?? ""];
      const input = fields.json("input") ?? {};
      const provider = fields.flag("providerExecuted") === true;
      return partsOf({ call, name, input, ...(provider && { provider }), ...defined({ meta }) });
    }
    case "tool-result": {
      const [call, name] = [fields.text("toolCallId") ?? "", fields.text("toolName") ?? ""];
      const outcome = outcomeOf(fields.json("output"));
      fields.keep("providerOptions", meta);
      return [resultPart(call, name, outcome)];
    }
    case "file":
    case "image": {
      const data = fields.text("data") ?? fields.text("image");
      const media = fields.text("mediaType") ?? (type === "image" ? "image" : undefined);
      const name = fields.text("filename");
      if (data === undefined || media === undefined) return undefined;
      return [{ type: "file", media, data, ...defined({ name, meta }) }];
    }
    default:
      return undefined;
  }
}

/** The ways in which the AI SDK writes what a tool gave. */
function outcomeOf(output: Json | undefined): Outcome {
  if (!isFields(output)) return { output: output ?? null };
  const { type, value = null, reason, ...more } = output;
  if (Object.keys(more).length > 0) return { output };
  switch (type) {
    case "text":
    case "json":
      return { output: value };
    case "error-text":
      return { error: { name: "ToolError", message: wordsFor(value) } };
    case "error-json":
      return { error: { name: "ToolError", message: JSON.stringify(value), data: value } };
    case "execution-denied":
      return { error: denial(reason) };
    default:
      return { output };
  }
}
