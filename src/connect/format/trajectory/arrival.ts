import type {
  Content,
  Fact,
  FactId,
  FactInput,
  Failure,
  Json,
  Part,
  Principal,
  Role,
  Session,
  Usage,
} from "../../../session/index.js";
import { canonical, digestOf, transcriptView } from "../../../session/index.js";
import { defined } from "../../../util/index.js";
import { wordsAlone } from "../../ai-sdk/conversation.js";
import type { Imported } from "../exchange.js";
import { isFields, isTime, stringOf } from "../fields.js";
import type { Foreign } from "../foreign.js";
import { keepRest, type StartedImport, startImport } from "../intake.js";
import { kept, untold } from "./kept.js";

/** How a model answered, as far as a file says so. */
export type Answer = {
  readonly content: Content;
  readonly finish?: string | undefined;
  readonly usage?: Partial<Usage> | undefined;
  readonly cost?: number | undefined;
  readonly model?: string | undefined;
  readonly response?: string | undefined;
  readonly agent?: string | undefined;
  readonly meta?: Json | undefined;
  readonly milliseconds?: number | undefined;
};

/** How something ended that a file begins and does not end. */
export const UNKNOWN_OUTCOME: Failure = {
  name: "Unknown",
  message: "The file ends before it says how this ended.",
  code: "outcome-unknown",
};

const SAID: ReadonlySet<string> = new Set(
  "message-say model-reply tool-call tool-result tool-failure context-compress".split(" "),
);

/** A session made from a file piece by piece: first the facts, then `keep` with the piece itself. */
export class Arrival {
  session: Session;
  readonly #foreign: Foreign;
  readonly #untold = new Map<string, number>();
  #since: Session | undefined;
  #at: string;
  #span: { readonly from: FactId; readonly to: FactId } | undefined;

  private constructor(foreign: Foreign, session: Session, since?: Session, at = session.fact.at) {
    this.#foreign = foreign;
    this.session = session;
    this.#since = since;
    this.#at = at;
  }

  static start(foreign: Foreign, start: StartedImport): Arrival {
    return new Arrival(foreign, startImport(foreign.source, foreign.format, start));
  }

  /** Another line of the same file that leaves this one at a session of it. */
  fork(from: Session, name: string, why?: string): Arrival {
    const by = "runtime";
    const session = from.fork(name, { at: this.#at, by, ...defined({ why }) });
    return new Arrival(this.#foreign, session, from, this.#at);
  }

  /** Merges another line. Its evidence stays; with "both" the conversation includes what it says after. */
  take(side: Arrival, why: string, adopt: "none" | "both" = "none"): void {
    this.session = this.session.merge(side.session, { adopt, at: this.#at, by: "runtime", why });
    for (const [path, count] of side.#untold) this.#untold.set(path, (this.#untold.get(path) ?? 0) + count);
  }

  /** From here on it is this time, if it is one. */
  clock(value: unknown): this {
    if (isTime(value)) this.#at = value;
    return this;
  }

  add(fact: FactInput): FactId {
    // A note of an import does not quote a person.
    const by = fact.type === "note" && { by: "runtime" };
    this.session = this.session.append({ ...by, ...fact, at: this.#at } as FactInput);
    const { id } = this.session;
    if (SAID.has(fact.type)) this.#span = { from: this.#span?.from ?? id, to: id };
    return id;
  }

  say(role: Role, content: Content, by?: Principal): FactId {
    return this.add({ type: "message-say", role, content, ...defined({ by }) });
  }

  /** A model was asked and answered. */
  answer(model: string, answer: Answer, parameters?: Json, config?: FactId): FactId {
    const { usage, agent, cost, response, meta, milliseconds } = answer;
    return this.add({
      type: "model-reply",
      of: this.ask(model, agent, parameters, config),
      content: answer.content,
      finish: answer.finish ?? "unknown",
      usage: {
        input: usage?.input ?? 0,
        output: usage?.output ?? 0,
        ...defined({ cached: usage?.cached, reasoning: usage?.reasoning }),
      },
      ...defined({ cost, model: answer.model, response, agent, meta, milliseconds }),
    });
  }

  ask(model: string, agent?: string, parameters?: Json, config?: FactId): FactId {
    return this.add({
      type: "model-call",
      model,
      ...defined({ agent, config, parameters, by: principalOf(agent) }),
    });
  }

  call(name: string, input: Json, call?: string, agent?: string): FactId {
    return this.add({ type: "tool-call", name, input, ...defined({ call, by: principalOf(agent) }) });
  }

  outcome(
    of: FactId,
    outcome: { readonly output: Json } | { readonly error: Failure },
    milliseconds?: number,
  ): void {
    const time = defined({ milliseconds });
    if ("error" in outcome) this.add({ type: "tool-failure", of, error: outcome.error, ...time });
    else this.add({ type: "tool-result", of, output: outcome.output, ...time });
  }

  /** The first and the last fact of the conversation since the last piece was kept. */
  get span(): { readonly from: FactId; readonly to: FactId } | undefined {
    return this.#span;
  }

  /** The conversation as it stands: its first fact and its last. */
  inView(): { readonly from: FactId; readonly to: FactId } | undefined {
    const { settled, open } = this.session.view(transcriptView);
    const entries = [...settled, ...open];
    const [first, last] = [entries[0], entries.at(-1)];
    return first === undefined || last === undefined ? undefined : { from: first.id, to: last.id };
  }

  /** Somebody was asked and decided. */
  decide(what: Json, decision: "approve" | "reject", by: Principal, why?: string, edit?: Json): void {
    const digest = digestOf(canonical(what));
    const of = this.add({ type: "approval-ask", what, digest });
    this.add({ type: "approval-give", of, decision, digest, by, ...defined({ why, edit }) });
  }

  /** Keeps a piece of the file. The fields that the facts since the last piece do not say are reported. */
  keep(what: string, piece: Json, telling: string = what, told: Json = piece): void {
    const facts: Fact[] = [];
    let node: Session | undefined = this.session;
    for (; node !== undefined && node !== this.#since; node = node.parents[0]) facts.push(node.fact);
    facts.reverse();
    for (const path of untold(told, facts)) {
      const place = path === "" || path === "[]" ? telling : `${telling}: ${path.replace(/^\[\]\./, "")}`;
      this.#untold.set(place, (this.#untold.get(place) ?? 0) + 1);
    }
    this.session = keepRest(this.session, what, kept(piece, facts), this.#at);
    this.#since = this.session;
    this.#span = undefined;
  }

  /** Keeps what facts have no words for, apart from the pieces of the file. */
  rest(what: string, value: Json | undefined): void {
    if (value !== undefined) this.session = keepRest(this.session, what, value, this.#at);
  }

  /** Keeps the lines of the file that could not be read, in one session of it. */
  keepBroken(): void {
    this.session = this.#foreign.keepBroken(this.session);
    this.#since = this.session;
  }

  /** Where somebody is still asked, the session waits for them, as a suspended run does. */
  suspend(): void {
    const waiting = this.session.pending.flatMap(({ id, type }) => (type === "approval-ask" ? [id] : []));
    if (waiting.length === 0) return;
    const [start] = this.session.history();
    this.add({ type: "run-suspend", of: (start ?? this.session).id, waiting });
  }

  imported(name: string, notes: readonly string[] = []): Imported {
    const left = [...this.#untold].map(([path, count]) => (count === 1 ? path : `${path} (${count} times)`));
    return this.#foreign.imported(name, this.session, [...notes, ...left]);
  }
}

/** Words alone are text; with thoughts or calls they are parts. */
export function contentOf(parts: readonly Part[]): Content {
  return parts.length === 0 ? "" : wordsAlone(parts);
}

/** The parts of content; words alone are one part. */
export function partsIn(content: Content): readonly Part[] {
  return typeof content !== "string" ? content : content === "" ? [] : [{ type: "text", text: content }];
}

/** Parts with text as texts; anything else is kept as it is. */
export function textParts(parts: readonly Json[]): readonly Part[] {
  return parts.map((part) =>
    isFields(part) && typeof part.text === "string"
      ? { type: "text", text: part.text }
      : { type: "other", value: part },
  );
}

/** The file of a data URL, if it is one in base64. */
export function fileIn(url: unknown): Part | undefined {
  const [, media, data] = /^data:([\w.+/-]+);base64,(.*)$/s.exec(stringOf(url) ?? "") ?? [];
  return media === undefined || data === undefined ? undefined : { type: "file", media, data };
}

function principalOf(agent: string | undefined): Principal | undefined {
  return agent === undefined ? undefined : `agent:${agent}`;
}

const UNPRINTABLE = /[\p{Cc}\p{Cs}]/gu;

/** The name that sessions of a file are proposed under: the file's, without what a name cannot have. */
export function nameOf(file: string, ...more: readonly (string | number)[]): string {
  const name = [file.replace(/\.(jsonl?|traj|eval)$/i, ""), ...more.map(String)]
    .map((part) => part.toWellFormed().replace(UNPRINTABLE, "").slice(0, 80))
    .filter((part) => part !== "")
    .join("/");
  return name === "" || /^[0-9a-f]{64}$/.test(name) ? "imported" : name;
}
