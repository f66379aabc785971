import { type PromptMessage, renderedPrompt } from "../../agent/model/index.js";
import { type FactId, RathError, type Session } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { firstLine } from "../../util/index.js";
import { reachable } from "../audit/way.js";
import type { ModelCall, Prompt } from "./models.js";
import { cut, text, type Words } from "./words.js";

type Call = { readonly id: FactId; readonly call: ModelCall };
type Rendered = { readonly id: FactId; readonly lines: readonly string[] };

/** Earlier prompts that a new one is held against: what they share is told once. */
const HELD = 8;
/** Of a prompt so long only the digest is checked and its size told. */
const LONGEST = 20_000_000;

/** The prompts of calls, rendered again from the record and checked. */
export class Prompts {
  readonly #store: Store;
  readonly #words: Words;
  readonly found = new Map<FactId, Prompt>();
  #held: Rendered[] = [];

  constructor(store: Store, words: Words) {
    this.#store = store;
    this.#words = words;
  }

  /** Renders those of the calls that are in the past of a head. */
  async render(head: Session, calls: readonly Call[]): Promise<void> {
    const wanted = new Map(calls.filter(({ id }) => !this.found.has(id)).map((one) => [one.id, one]));
    if (wanted.size === 0) return;
    const sessions = new Map<FactId, Session>();
    for (const session of reachable(head)) if (wanted.has(session.id)) sessions.set(session.id, session);
    let turn = 0;
    for (const [id, { call }] of wanted) {
      const session = sessions.get(id);
      if (session === undefined) continue;
      this.found.set(id, this.#prompt(session, call));
      if (++turn % 16 === 0) await new Promise((done) => setImmediate(done));
    }
  }

  /** The same for calls on a branch of its own, found by where it ends. */
  async renderAt(id: FactId, calls: readonly Call[]): Promise<void> {
    const head = await this.#store.load(id).catch(() => undefined);
    if (head !== undefined) await this.render(head, calls);
  }

  #prompt(session: Session, call: ModelCall): Prompt {
    const digest = call.prompt.digest;
    if (digest === undefined) return call.prompt;
    try {
      const { text: whole, messages } = renderedPrompt(session);
      if (whole.length > LONGEST)
        return { state: "rendered", digest, characters: whole.length, messages: messages.length, news: [] };
      return this.#told(session.id, digest, whole, messages);
    } catch (error) {
      const why = error instanceof RathError ? firstLine(error.message) : "it cannot be rendered";
      return { state: "not-rendered", digest, why };
    }
  }

  #told(id: FactId, digest: string, whole: string, messages: readonly PromptMessage[]): Prompt {
    const lines = whole.replace(/\n$/, "").split("\n");
    let [best, most] = [undefined as Rendered | undefined, 0];
    for (const held of this.#held) {
      const shared = sharedOf(held.lines, lines);
      if (shared > most) [best, most] = [held, shared];
    }
    this.#held = [...this.#held.slice(1 - HELD), { id, lines }];
    const told = best === undefined ? 0 : most - 1;
    return {
      state: "rendered",
      digest,
      characters: whole.length,
      messages: messages.length,
      ...(best !== undefined && { shared: { call: best.id, messages: told } }),
      ...(best === undefined && { request: this.#words.tell(lines[0] ?? "") }),
      news: messages
        .slice(told)
        .map((message) => ({ role: message.role, text: this.#words.tell(said(message)) })),
    };
  }
}

/** How many lines two prompts begin with alike: the request first, then a line for each message. */
function sharedOf(one: readonly string[], other: readonly string[]): number {
  let count = 0;
  while (count < one.length && count < other.length && one[count] === other[count]) count += 1;
  return count;
}

/** A message as people read it: words as they are, calls and results with what they carry. */
function said(message: PromptMessage): string {
  if (typeof message.content === "string") return message.content;
  return message.content
    .map((part) => {
      if (part.type === "text" || part.type === "reasoning") return part.text;
      if (part.type === "tool-call") {
        const by = part.providerExecuted === true ? " (run by the provider)" : "";
        return `→ ${part.toolName}${by} ${JSON.stringify(part.input)}`;
      }
      if (part.type === "tool-result") return `← ${part.toolName}: ${text(part.output.value)}`;
      return `[file ${part.filename ?? part.mediaType}, ${cut(part.data, 40)}…]`;
    })
    .join("\n");
}
