import type { Content, FactId, Json, Part } from "../../../session/index.js";
import type { Imported, ImportFormat, Source } from "../exchange.js";
import { amountIn, type Fields, fieldsIn, fieldsOf, own, parsed, textIn, without } from "../fields.js";
import { beginning, defineImport, type Foreign } from "../foreign.js";
import { Arrival, contentOf, nameOf, partsIn, textParts } from "../trajectory/arrival.js";

export const NOTES = { run: "swe-agent run", entry: "swe-agent history", step: "swe-agent step" } as const;

export const sweAgent: ImportFormat = defineImport({
  name: "swe-agent",
  title: "Trajectory of SWE-agent (.traj)",
  fits(source: Source): boolean {
    const text = beginning(source);
    return (
      (source.name.endsWith(".traj") && /^\s*\{/.test(text)) ||
      /^\s*\{\s*"environment"[\s\S]*"trajectory"/.test(text)
    );
  },
  read,
});

function read(foreign: Foreign): Imported {
  const run = foreign.object(foreign.json(), "");
  const history = foreign.objects(own(run, "history") ?? [], "history");
  const steps = foreign.objects(own(run, "trajectory") ?? [], "trajectory");
  if (history.length === 0 && steps.length === 0)
    foreign.refuse("", "it has neither a history nor a trajectory");
  const story = new Story(foreign, run, steps);
  for (const [index, entry] of history.entries()) story.take(entry, index, history[index + 1]);
  story.end();
  return story.arrival.imported(nameOf(foreign.source.name));
}

type Waiting = { readonly of: FactId; readonly call: string };

/** A run while it becomes a session: the history says what was said, the trajectory how long it took and where. */
class Story {
  readonly arrival: Arrival;
  readonly #foreign: Foreign;
  readonly #steps: readonly Fields[];
  readonly #model: string;
  #waiting: Waiting[] = [];
  #done = 0;
  /** The step whose action is under way, to be kept when its observation was told. */
  #open: number | undefined;
  #configured = false;

  constructor(foreign: Foreign, run: Fields, steps: readonly Fields[]) {
    this.#foreign = foreign;
    this.#steps = steps;
    this.#model = modelIn(run);
    this.arrival = Arrival.start(foreign, {
      name: "run",
      detail: { environment: own(run, "environment") ?? null },
    });
    const rest = without(run, "history", "trajectory");
    this.arrival.keep(NOTES.run, { keys: Object.keys(run), rest }, "run", rest);
  }

  take(entry: Fields, index: number, next: Fields | undefined): void {
    const where = `history[${index}]`;
    const role = this.#foreign.string(own(entry, "role"), `${where}.role`);
    const content = this.#contentOf(own(entry, "content") ?? "", `${where}.content`);
    const author = textIn(entry, "agent") || undefined;
    if (role === "system") this.#system(content, author);
    else if (role === "assistant") this.#assistant(entry, content, author, next, where);
    else if (role === "tool" || role === "user") this.#heard(entry, role, content);
    else this.#foreign.refuse(`${where}.role`, `there is no role ${JSON.stringify(role)}`);
    this.arrival.keep(NOTES.entry, { index, entry }, "history", entry);
    if (role !== "assistant") this.#closeStep();
  }

  end(): void {
    this.#closeStep();
    // Steps that no history tells.
    while (this.#done < this.#steps.length) {
      const step = this.#steps[this.#done] as Fields;
      this.#open = this.#done;
      this.#done += 1;
      const said = textIn(step, "response", "thought") ?? "";
      this.#answered(said, [this.#command(textIn(step, "action") ?? "")], undefined, true);
      this.#closeStep();
    }
  }

  #system(content: Content, author: string | undefined): void {
    if (this.#configured || typeof content !== "string") {
      this.arrival.say("system", content);
      return;
    }
    this.#configured = true;
    this.arrival.add({ type: "agent-configure", agent: author ?? "main", instructions: content });
  }

  #assistant(
    entry: Fields,
    content: Content,
    author: string | undefined,
    next: Fields | undefined,
    where: string,
  ): void {
    this.#closeStep();
    const action = own(entry, "action") ?? null;
    const isStep = action !== null && own(entry, "is_demo") !== true && this.#done < this.#steps.length;
    if (isStep) {
      this.#open = this.#done;
      this.#done += 1;
    }
    const calls = this.#foreign.objects(own(entry, "tool_calls") ?? [], `${where}.tool_calls`);
    const wanted = calls.map((call, place) => this.#callOf(call, `${where}.tool_calls[${place}]`));
    const text =
      wanted.length === 0 && typeof action === "string" && action.trim() !== ""
        ? [this.#command(action)]
        : [];
    const heard = next !== undefined && (next.role === "tool" || next.role === "user");
    this.#answered(
      content,
      [...wanted, ...text],
      author,
      heard || (isStep && this.#observation() !== undefined),
    );
  }

  #answered(
    content: Content,
    calls: readonly (Part & { type: "tool-call" })[],
    author: string | undefined,
    heard: boolean,
  ): void {
    this.arrival.answer(this.#model, {
      content: contentOf([...partsIn(content), ...calls]),
      finish: calls.length > 0 ? "tool-calls" : "stop",
      agent: author,
    });
    this.#waiting = heard
      ? calls.map(({ name, input, call }) => ({ call, of: this.arrival.call(name, input, call, author) }))
      : [];
  }

  /** The outcome of an action; without an action, a message. */
  #heard(entry: Fields, role: string, content: Content): void {
    const ids = own(entry, "tool_call_ids");
    const named = Array.isArray(ids)
      ? this.#waiting.filter(({ call }) => (ids as readonly Json[]).includes(call))
      : this.#waiting;
    if (named.length === 0 || own(entry, "is_demo") === true) {
      this.arrival.say("user", content, role === "tool" ? "tool" : "user");
      return;
    }
    this.#waiting = this.#waiting.filter((one) => !named.includes(one));
    const seconds =
      this.#open === undefined ? undefined : amountIn(this.#steps[this.#open] as Fields, "execution_time");
    for (const { of } of named)
      this.arrival.outcome(
        of,
        { output: typeof content === "string" ? content : { type: "content", value: content } },
        seconds === undefined ? undefined : seconds * 1000,
      );
  }

  #closeStep(): void {
    const observation = this.#observation();
    for (const { of } of this.#waiting) this.arrival.outcome(of, { output: observation ?? "" });
    this.#waiting = [];
    if (this.#open === undefined) return;
    const step = this.#steps[this.#open] as Fields;
    this.arrival.keep(NOTES.step, { index: this.#open, step }, "trajectory", step);
    this.#open = undefined;
  }

  #observation(): string | undefined {
    const step = this.#open === undefined ? undefined : this.#steps[this.#open];
    return step && textIn(step, "observation");
  }

  /** A command in words is a call too. */
  #command(action: string): Part & { type: "tool-call" } {
    return { type: "tool-call", call: `action-${this.#done}`, name: "command", input: { command: action } };
  }

  #callOf(call: Fields, where: string): Part & { type: "tool-call" } {
    const fields = this.#foreign.object(own(call, "function"), `${where}.function`);
    return {
      type: "tool-call",
      call: this.#foreign.string(own(call, "id"), `${where}.id`),
      name: this.#foreign.string(own(fields, "name"), `${where}.function.name`),
      input: parsed(own(fields, "arguments") ?? ""),
    };
  }

  #contentOf(content: Json, where: string): Content {
    if (typeof content === "string") return content;
    return contentOf(textParts(this.#foreign.objects(content, where)));
  }
}

/** The model's name stands in the configuration that a run can be repeated with. */
function modelIn(run: Fields): string {
  const config = fieldsOf(parsed(own(run, "replay_config") ?? null));
  return textIn(fieldsIn(fieldsIn(config, "agent"), "model"), "name", "model_name") ?? "unknown";
}
