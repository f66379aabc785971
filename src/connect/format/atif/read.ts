import type { Content, FactId, Json, Part, Session } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import type { Imported, ImportFormat } from "../exchange.js";
import type { Fields } from "../fields.js";
import {
  amountIn,
  fieldsIn,
  isTime,
  objectsIn,
  own,
  stringOf,
  textIn,
  toolSpec,
  without,
} from "../fields.js";
import { beginsLike, defineImport, type Foreign } from "../foreign.js";
import { Arrival, contentOf, nameOf, partsIn } from "../trajectory/arrival.js";
import { wordsOf } from "../trajectory/turn.js";
import { breachesOf, copiedStep, embeddedIn } from "./rules.js";

/** The kinds of notes of an imported trajectory. */
export const NOTES = {
  trajectory: "atif trajectory",
  step: "atif step",
  copied: "atif copied steps",
} as const;

export const atif: ImportFormat = defineImport({
  name: "atif",
  title: "Agent Trajectory Interchange Format, versions 1.0 to 1.7",
  fits: (source) => beginsLike(source, /"schema_version"\s*:\s*"ATIF-v/),
  read,
});

function read(foreign: Foreign): Imported {
  const document = foreign.object(foreign.json(), "");
  const [breach] = breachesOf(document);
  if (breach !== undefined) foreign.refuse(breach.where, breach.reason);
  const story = new Story(foreign, document, "trajectory");
  story.tell(0);
  return story.arrival.imported(nameOf(foreign.source.name));
}

/** One trajectory while it becomes a session. Those embedded in it become lines that the session takes in. */
class Story {
  readonly arrival: Arrival;
  readonly #foreign: Foreign;
  readonly #document: Fields;
  readonly #name: string;
  readonly #steps: readonly Fields[];
  /** The ids of all trajectories in the file. */
  readonly #embedded: ReadonlySet<string>;
  readonly #inside: Map<string, { readonly document: Fields; readonly place: number }>;
  /** The session after each step. */
  readonly #after: Session[] = [];
  #done: number;

  constructor(foreign: Foreign, document: Fields, name: string, parent?: Story) {
    this.#foreign = foreign;
    this.#document = document;
    this.#name = name;
    this.#steps = document.steps as readonly Fields[];
    this.#embedded = parent === undefined ? new Set(embeddedIn(document)) : parent.#embedded;
    this.#inside = new Map(
      objectsIn(document, "subagent_trajectories").map((one, place) => [
        String(one.trajectory_id),
        { document: one, place },
      ]),
    );
    const [first] = this.#steps;
    const copied = parent === undefined ? 0 : parent.#copiedBy(this.#steps);
    this.#done = copied;
    const base = copied === 0 ? undefined : (parent as Story).#after[copied - 1];
    if (parent !== undefined && base !== undefined) {
      this.arrival = parent.arrival.fork(base, name);
      return;
    }
    const text = first?.source === "user" ? stringOf(first.message) : undefined;
    this.arrival = Arrival.start(foreign, {
      name,
      text,
      at: [first?.timestamp].find(isTime),
      detail: without(document, "steps", "subagent_trajectories", "extra", "agent", "notes"),
    });
    if (text !== undefined) this.#finish(first as Fields);
  }

  tell(place: number): void {
    const { arrival } = this;
    this.#configure();
    const document = without(this.#document, "steps", "subagent_trajectories");
    arrival.keep(NOTES.trajectory, { place, document }, "trajectory", document);
    const copied = this.#done - this.#after.length;
    if (copied > 0) arrival.keep(NOTES.copied, { steps: copied });
    for (const step of this.#steps.slice(this.#done)) {
      arrival.clock(step.timestamp);
      this.#tellStep(step);
      this.#finish(step);
    }
    // Nothing refers to these; they are of this run all the same.
    for (const id of [...this.#inside.keys()]) this.#takeIn({ trajectory_id: id });
  }

  #finish(step: Fields): void {
    this.arrival.keep(NOTES.step, step, "steps");
    this.#after.push(this.arrival.session);
    if (this.#after.length > this.#done) this.#done = this.#after.length;
  }

  /** How many steps at the beginning of another trajectory are copies of the steps of this one. */
  #copiedBy(steps: readonly Fields[]): number {
    let count = 0;
    while (count < steps.length && count < this.#after.length && isCopy(steps[count], this.#steps[count]))
      count += 1;
    return count;
  }

  #configure(): void {
    const agent = this.#document.agent as Fields;
    const tools = objectsIn(agent, "tool_definitions").map(toolSpec);
    if (tools.length === 0) return;
    const name = String(agent.name);
    this.arrival.add({
      type: "agent-configure",
      agent: name,
      tools,
      ...(name !== "" && { by: `agent:${name}` }),
    });
  }

  #tellStep(step: Fields): void {
    const { arrival } = this;
    const message = step.message as Json;
    const calls = objectsIn(step, "tool_calls");
    const results = objectsIn(fieldsIn(step, "observation"), "results");
    if (step.source === "system" && this.#compress(step, results)) return;
    if (step.source !== "agent") arrival.say(step.source as "user" | "system", saidIn(message));
    else this.#tellAgent(step, calls);
    const asked = new Map<Json, FactId>();
    for (const call of calls) {
      // A call without a result waits for nothing: the answer says that it was made.
      if (!results.some((result) => result.source_call_id === call.tool_call_id)) continue;
      const id = String(call.tool_call_id);
      const input = own(call, "arguments") ?? {};
      asked.set(id, arrival.call(String(call.function_name), input, id, this.#agent));
    }
    for (const result of results) {
      const of = asked.get(own(result, "source_call_id") ?? null);
      const content = own(result, "content") ?? null;
      for (const ref of objectsIn(result, "subagent_trajectory_ref")) this.#takeIn(ref);
      if (of === undefined) {
        // Results without a call, and second results of one call.
        if (content !== null && content !== "") arrival.say("user", saidIn(content), "tool");
        continue;
      }
      asked.delete(own(result, "source_call_id") ?? null);
      const output = typeof content === "string" ? content : { type: "content", value: content };
      arrival.outcome(of, { output: content === null ? "" : output });
    }
  }

  #tellAgent(step: Fields, calls: readonly Fields[]): void {
    const thoughts = textIn(step, "reasoning_content");
    const parts: readonly Part[] = [
      ...(thoughts === undefined ? [] : [{ type: "reasoning", text: thoughts } as const]),
      ...partsIn(saidIn(step.message as Json)),
      ...calls.map((call) => ({
        type: "tool-call" as const,
        call: String(call.tool_call_id),
        name: String(call.function_name),
        input: own(call, "arguments") ?? {},
      })),
    ];
    const agent = this.#agent;
    if (step.llm_call_count === 0) {
      this.arrival.say("assistant", contentOf(parts), agent === undefined ? "agent" : `agent:${agent}`);
      return;
    }
    const metrics = fieldsIn(step, "metrics");
    const effort = own(step, "reasoning_effort") ?? null;
    this.arrival.answer(
      String(own(step, "model_name") ?? own(this.#document.agent as Fields, "model_name") ?? "unknown"),
      {
        content: contentOf(parts),
        finish: calls.length > 0 ? "tool-calls" : "stop",
        usage: defined({
          input: amountIn(metrics, "prompt_tokens"),
          output: amountIn(metrics, "completion_tokens"),
          cached: amountIn(metrics, "cached_tokens"),
        }),
        cost: amountIn(metrics, "cost_usd"),
        agent,
      },
      effort === null ? undefined : { effort },
    );
  }

  /** A step that says that the context was replaced: what it says stands in view for all that was said before. */
  #compress(step: Fields, results: readonly Fields[]): boolean {
    const management = fieldsIn(fieldsIn(step, "extra"), "context_management");
    if (own(management, "boundary") !== "replace") return false;
    const range = this.arrival.inView();
    if (range === undefined) return false;
    const contents = results.flatMap((result) => stringOf(result.content) ?? []);
    for (const result of results)
      for (const ref of objectsIn(result, "subagent_trajectory_ref")) this.#takeIn(ref);
    const [before, after] = [amountIn(management, "tokens_before"), amountIn(management, "tokens_after")];
    this.arrival.add({
      type: "context-compress",
      ...range,
      summary: contents.length > 0 ? contents.join("\n") : wordsOf(saidIn(step.message as Json)),
      policy: String(own(management, "type") ?? "compaction"),
      ...(before !== undefined && after !== undefined && { tokens: { before, after } }),
      by: "agent",
    });
    return true;
  }

  /** A trajectory that is in another file, or nowhere, is reported; the step keeps the reference to it. */
  #takeIn(ref: Fields): void {
    const id = String(own(ref, "trajectory_id"));
    const found = this.#inside.get(id);
    if (found === undefined) {
      const named = own(ref, "trajectory_id") ?? own(ref, "session_id") ?? own(ref, "trajectory_path");
      const path = own(ref, "trajectory_path");
      if (!this.#embedded.has(id))
        this.#foreign.warnings.add(
          `The trajectory of the sub-agent ${String(named)} is not in the file${typeof path === "string" ? `: it is in ${path}` : ""}.`,
        );
      return;
    }
    this.#inside.delete(id);
    const story = new Story(this.#foreign, found.document, `${this.#name}/${id}`, this);
    story.tell(found.place);
    this.arrival.take(story.arrival, `embedded trajectory ${id}`);
  }

  get #agent(): string | undefined {
    return textIn(this.#document.agent as Fields, "name") || undefined;
  }
}

function isCopy(step: Fields | undefined, original: Fields | undefined): boolean {
  return original !== undefined && JSON.stringify(step) === JSON.stringify(copiedStep(original));
}

/** A message in the record's words: images are parts that it has no word for, because a path is not a file. */
function saidIn(message: Json): Content {
  if (typeof message === "string") return message;
  return contentOf(
    (message as readonly Fields[]).map((part) =>
      part.type === "text" ? { type: "text", text: String(part.text) } : { type: "other", value: part },
    ),
  );
}
