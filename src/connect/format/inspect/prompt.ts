import type { Entry, FactId, Json, Session } from "../../../session/index.js";
import { digestOf, List, transcriptView } from "../../../session/index.js";
import type { Fields } from "../fields.js";
import { textOf } from "../trajectory/turn.js";
import { messageFor, toolsFor } from "./message.js";

/** Longer texts are attached once, and named wherever a prompt repeats them, as Inspect does. */
const ATTACHED_LENGTH = 100;
/** So many messages stand in prompts, all in all; after that a prompt has only its newest. */
const MESSAGES = 100_000;
const NEWEST = 5;

/** The prompts of model calls. */
export class Prompts {
  readonly attachments = new Map<string, string>();
  readonly #configs = new Map<FactId, { readonly instructions?: string; readonly tools: readonly Json[] }>();
  #room = MESSAGES;

  constructor(history: Iterable<Session>) {
    for (const { id, fact } of history)
      if (fact.type === "agent-configure")
        this.#configs.set(id, {
          ...(fact.instructions !== undefined && { instructions: textOf(fact.instructions) }),
          tools: toolsFor(fact.tools),
        });
  }

  before(
    call: Session,
    config: FactId | undefined,
  ): { readonly input: readonly Fields[]; readonly tools: readonly Json[] } {
    const configured = config === undefined ? undefined : this.#configs.get(config);
    const transcript = call.parents[0]?.view(transcriptView);
    const { settled, open } = transcript ?? { settled: List.empty as List<Entry>, open: [] };
    const count = settled.length + open.length;
    const from = count > this.#room ? Math.max(0, count - NEWEST) : 0;
    const shown = [
      ...settled.from(Math.min(from, settled.length)),
      ...open.slice(Math.max(0, from - settled.length)),
    ];
    this.#room = Math.max(0, this.#room - shown.length);
    const messages = shown.map(({ id, message }) => messageFor(message, id));
    const instructions = configured?.instructions;
    const system =
      instructions === undefined ? [] : [{ id: config as string, content: instructions, role: "system" }];
    return {
      input: [...system, ...messages].map((one) => this.#condensed(one) as Fields),
      tools: configured?.tools ?? [],
    };
  }

  #condensed(value: Json): Json {
    if (typeof value === "string") {
      if (value.length <= ATTACHED_LENGTH) return value;
      const name = digestOf(value).slice(0, 32);
      this.attachments.set(name, value);
      return `attachment://${name}`;
    }
    if (Array.isArray(value)) return value.map((part) => this.#condensed(part as Json));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, part]) => [key, this.#condensed(part as Json)]),
    );
  }
}
