import {
  type Awaited,
  CancelledError,
  type Observation,
  type Rath,
  RunFailedError,
  statusOf,
} from "../../../runtime/index.js";
import { diff, type FactId, type Failure, type Json, type Session, warnOf } from "../../../session/index.js";
import { FencedError } from "../../../store/index.js";
import { defined } from "../../../util/index.js";
import { answerable, type FrontSender } from "../answer.js";
import { type DoorOptions, toldOf } from "../door.js";
import { EventStream, follow } from "../event-stream.js";
import { AGUI_VERSION, type AguiEvent, interruptOf, mergedEvent } from "./event.js";
import { callsOf, isFrontCall, offerView } from "./front-tool.js";
import type { AguiInput } from "./input.js";
import { messagesIn } from "./messages.js";
import { appState, withOwn } from "./state.js";
import { AguiTeller } from "./teller.js";
import { heardIn, type Prepared } from "./thread.js";

/** A request that reads an answer. */
export type Reader = {
  readonly threadId: string;
  readonly runId: string;
  readonly parentRunId?: string;
  readonly sender: FrontSender;
};

export type AnswerOptions = Pick<DoorOptions, "maxWaiting" | "onDisconnect"> & {
  readonly state: (session: Session) => Json;
};

type Reading = { readonly reader: Reader; readonly stream: EventStream<AguiEvent> };
type Given = {
  readonly rath: Rath;
  readonly name: string;
  readonly options: AnswerOptions;
  /** The request that it began with; left out by a GET. */
  readonly input: AguiInput | undefined;
  readonly reader: Reader;
};

/**
 * The answer of a thread. No request awaits the run: readers come and go, and one that comes late is shown the thread before
 * it, and then hears it from its beginning.
 */
export class AguiAnswer {
  /** Whether it is the answer of a run, and not only of what there is. */
  readonly runs: boolean;
  readonly over: Promise<void>;
  /** The request that it began with, and the response to it. */
  readonly reader: Reader;
  readonly first: Response;
  readonly #given: Given;
  readonly #prepared: Prepared;
  readonly #start: Json;
  /** The facts that the teller has heard. */
  readonly #heard = new Set<FactId>();
  readonly #teller: AguiTeller;
  readonly #stop = new AbortController();
  #ends = false;
  readonly #readings = new Set<Reading>();
  /** The events so far. Those for late readers only are what the others have said themselves. */
  readonly #events: { event: AguiEvent; readonly late: boolean }[] = [];

  constructor(given: Given, prepared: Prepared) {
    const { input, reader } = given;
    this.#given = given;
    this.#prepared = prepared;
    this.reader = reader;
    this.#start = input?.state ?? appState(prepared.before);
    this.runs = prepared.go !== undefined;
    const known = new Set(input?.results.map(({ toolCallId }) => toolCallId));
    this.#teller = new AguiTeller(this.#start, known, (event) => this.#tell(event));
    this.first = this.read(reader, prepared.isLate);
    this.over = this.#run().catch((error: unknown) => warnOf(error, "OPENRATH_FRONT"));
  }

  /** Whether readers can attach to it. Those who come while its end is told would miss that. */
  get goes(): boolean {
    return this.runs && !this.#ends;
  }

  /** Whether a request has something to say that this answer does not know. */
  isNews({ messages, resume }: AguiInput): boolean {
    const known = new Set(heardIn(this.#prepared.before));
    for (const { id } of this.#given.input?.messages ?? []) known.add(id);
    return resume.length > 0 || messages.some(({ id }) => !known.has(id));
  }

  /** The answer for a reader, with the messages and the state before it for one that is late. */
  read(reader: Reader, late: boolean): Response {
    const { options } = this.#given;
    const left = new AbortController();
    const message = "The reader is too slow; the run goes on.";
    const stream = new EventStream<AguiEvent>({ ...options, onDisconnect: "cancel" }, left, {
      late: () => ({ type: "RUN_ERROR", message, code: "reader-late" }),
      merge: mergedEvent,
    });
    const reading: Reading = { reader, stream };
    left.signal.addEventListener("abort", () => {
      this.#readings.delete(reading);
      if (options.onDisconnect === "cancel" && this.#readings.size === 0)
        this.#stop.abort(new Error("the reader went away"));
    });
    const { threadId, runId, parentRunId } = reader;
    const protocolVersion = AGUI_VERSION;
    stream.send({ type: "RUN_STARTED", threadId, runId, protocolVersion, ...defined({ parentRunId }) });
    if (late) {
      const { before } = this.#prepared;
      stream.send({ type: "MESSAGES_SNAPSHOT", messages: messagesIn(before) });
      stream.send({ type: "STATE_SNAPSHOT", snapshot: withOwn(this.#start, options.state(before)) });
    }
    for (const one of this.#events) if (late || !one.late) stream.send(one.event);
    this.#readings.add(reading);
    return stream.response();
  }

  async #run(): Promise<void> {
    const { rath, name } = this.#given;
    const { before, run, go } = this.#prepared;
    const unfollow = follow(rath, { name, run }, (observation) => this.#hear(observation));
    const told = {
      said: (session: Session) =>
        this.#tell({ type: "MESSAGES_SNAPSHOT", messages: messagesIn(session) }, true),
      seen: (session: Session) => {
        for (const node of diff(before, session).theirs) this.#hear({ kind: "fact", session: node });
      },
    };
    try {
      await this.#end(go === undefined ? before : await go(this.#stop.signal, told));
    } catch (error) {
      const session = error instanceof CancelledError ? error.session : undefined;
      if (session !== undefined) await this.#end(session);
      else this.#fail(failureOf(error));
    } finally {
      unfollow();
      for (const { stream } of this.#readings) stream.end();
    }
  }

  /** Facts of somebody else come from the record, and in this process also while they happen: each is told once. */
  #hear(observation: Observation): void {
    if (observation.kind === "fact") {
      const { id } = observation.session;
      if (this.#heard.has(id)) return;
      this.#heard.add(id);
    }
    this.#teller.hear(observation);
  }

  #tell(event: AguiEvent, late = false): void {
    const last = this.#events.at(-1);
    const merged = last === undefined || last.late || late ? undefined : mergedEvent(last.event, event);
    if (last !== undefined && merged !== undefined) last.event = merged;
    else this.#events.push({ event, late });
    if (!late) for (const { stream } of this.#readings) stream.send(event);
  }

  /** The run is over, or waits for something. */
  async #end(session: Session): Promise<void> {
    const awaited = await awaitedIn(this.#given, session);
    this.#teller.close(awaited.length > 0);
    if (this.runs) this.#tellUnused(session);
    const state = withOwn(this.#teller.state, this.#given.options.state(session));
    const usage = this.#teller.usage;
    const metadata = { openrath: { session: session.id, run: session.fact.run ?? null } };
    this.#ends = true;
    for (const { reader, stream } of this.#readings) {
      const { threadId, runId, sender } = reader;
      const outcome = await this.#outcomeFor(sender, session, awaited);
      stream.send({ type: "STATE_SNAPSHOT", snapshot: state });
      stream.send({ type: "RUN_FINISHED", threadId, runId, outcome, usage, metadata });
    }
  }

  #fail({ message, code }: Pick<Failure, "message" | "code">): void {
    this.#ends = true;
    this.#teller.close(false);
    this.#tell({ type: "RUN_ERROR", message, ...defined({ code }), usage: this.#teller.usage });
  }

  /** Calls of the front end's tools end a run as a success; everything else that is awaited is an interrupt. */
  async #outcomeFor(sender: FrontSender, session: Session, awaited: readonly Awaited[]): Promise<Json> {
    if (awaited.length === 0) return { type: statusOf(session) === "cancelled" ? "cancelled" : "success" };
    const { rath, name } = this.#given;
    const may = await answerable(rath, name, sender);
    const calls = callsOf(
      session,
      awaited.map(({ id }) => id),
    );
    const front: FactId[] = [];
    const interrupts: Json[] = [];
    for (const one of awaited) {
      const call = calls.get(one.id);
      if (call !== undefined && isFrontCall(call)) front.push(call.id);
      else interrupts.push(interruptOf(one, call?.id ?? (one.doubt === true ? one.id : undefined), may(one)));
    }
    if (interrupts.length > 0) return { type: "interrupt", interrupts };
    return { type: "success", pendingToolCallIds: front };
  }

  /** Says why a tool of the front end is never called. */
  #tellUnused(session: Session): void {
    const offered = session.view(offerView).tools.map(({ name }) => name);
    if (offered.length === 0) return;
    const used = usedIn(session);
    const tools = offered.filter((name) => !used.has(name));
    const hint = "agent({ …, tools: (session) => [...tools, ...frontTools(session)] })";
    if (tools.length > 0) this.#tell({ type: "CUSTOM", name: "openrath.unused", value: { tools, hint } });
  }
}

/** The names of the tools that agents had in the newest run. */
function usedIn(session: Session): ReadonlySet<string> {
  const names = new Set<string>();
  for (const { fact } of session.history()) {
    if (fact.run !== session.fact.run || fact.type !== "agent-configure") continue;
    for (const tool of Array.isArray(fact.tools) ? fact.tools : [])
      names.add(String((tool as { readonly name?: Json }).name));
  }
  return names;
}

/** The open questions of a run that stopped. */
async function awaitedIn({ rath, name }: Given, session: Session): Promise<readonly Awaited[]> {
  if (statusOf(session) !== "waiting") return [];
  const all = await rath.pending(name);
  const open = all.filter(({ answered }) => !answered);
  return open.length > 0 ? open : all;
}

/** The failure of a run is on the record and may be shown to the sender; other errors are the server's own. */
function failureOf(error: unknown): Pick<Failure, "message" | "code"> {
  if (error instanceof FencedError)
    return { message: "A run of this thread is under way elsewhere.", code: "thread-busy" };
  if (!(error instanceof RunFailedError)) return toldOf(error).told;
  const { message = error.message, code } = Object(error.data.error) as Partial<Failure>;
  return { message, ...defined({ code }) };
}
