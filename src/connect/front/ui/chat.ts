import { type Rath, recordedRun, statusOf } from "../../../runtime/index.js";
import type { FactId, Session } from "../../../session/index.js";
import { giveReplies, type Reply } from "../answer.js";
import { RequestError } from "../door.js";
import { takenOver } from "../take-over.js";
import { Answer, finishOf } from "./answer.js";
import { chunkFor, partsOf, type UiMessage } from "./chunk.js";
import type { UiInput } from "./input.js";
import type { UiDoor } from "./options.js";
import { catchUp, messagesIn, type RecordedMessage } from "./record.js";
import { awaitedChunks, repliesIn, tellCalls } from "./waiting.js";

type Recorded = { readonly session: Session; readonly messages: readonly RecordedMessage[] };

/** The newest answer of each chat of a runtime, while it is under way in this process: all handlers share it. */
const answers = new WeakMap<Rath, Map<string, Answer>>();

/** One chat: a session under a name, and the answer that is under way. */
export class Chat {
  readonly #door: UiDoor;
  readonly #name: string;

  constructor(door: UiDoor, name: string) {
    this.#door = door;
    this.#name = name;
  }

  /** The messages, or undefined where there is no such chat. */
  async messages(): Promise<readonly UiMessage[] | undefined> {
    const recorded = await this.#recorded();
    if (recorded === undefined) return undefined;
    const { session, messages } = recorded;
    const newest = messages.at(-1);
    const waiting =
      newest?.role === "assistant" ? await awaitedChunks(this.#door, this.#name, session, newest.teller) : [];
    return messages.flatMap((message): readonly UiMessage[] => {
      if (message.role === "user") return [message];
      const { id, role, chunks } = message;
      const told = message === newest ? [...chunks, ...waiting] : chunks;
      const parts = partsOf(told.flatMap((chunk) => chunkFor(this.#door.version, chunk) ?? []));
      return parts.length === 0 ? [] : [{ id, role, parts }];
    });
  }

  /** Takes in what a front end posts. */
  async post(input: UiInput): Promise<Response> {
    const recorded = await this.#recorded();
    const { message, trigger } = input;
    const answered = await this.#reply(input, recorded);
    if (trigger === "regenerate-message") return this.#again(recorded, message?.id);
    if (message === undefined) {
      if (recorded === undefined || (answered.length === 0 && !(await this.#canGoOn(recorded))))
        throw nothingNew(input.thread);
      return this.#goOn(recorded).read(this.#door, false, answered);
    }
    const running = this.#running();
    if (running?.message === message.id) return running.read(this.#door, true);
    const place = recorded?.messages.findIndex(({ id }) => id === message.id) ?? -1;
    if (recorded === undefined || place === -1) return this.#say(message).read(this.#door, true);
    if (recorded.messages.slice(place + 1).some(({ role }) => role === "user"))
      throw nothingNew(input.thread);
    // It was heard before: its answer is told again, or goes on.
    return (await this.#attach(recorded)) ?? this.#recordedAnswer(recorded);
  }

  /** The answer that is under way, from its beginning, or one that can go on. */
  async attach(): Promise<Response | undefined> {
    const running = this.#running();
    if (running !== undefined) return running.read(this.#door, true);
    const recorded = await this.#recorded();
    return recorded && this.#attach(recorded);
  }

  /** Goes on with a run whose answer was given elsewhere. It is nobody's to await. */
  async resume(): Promise<void> {
    const recorded = await this.#recorded();
    if (recorded !== undefined && statusOf(recorded.session) === "waiting") this.#goOn(recorded);
  }

  /** Stops the answer that is under way. */
  stop(): boolean {
    const running = this.#running();
    running?.stop.abort("somebody stopped it");
    return this.#door.rath.cancel(this.#name) || running !== undefined;
  }

  /** Gives the answers in what was posted. Gives back the requests that are answered, here or elsewhere. */
  async #reply(input: UiInput, recorded: Recorded | undefined): Promise<readonly FactId[]> {
    const { rath } = this.#door;
    if (recorded === undefined || statusOf(recorded.session) !== "waiting") {
      if (input.answers.length > 0) throw nothingNew(input.thread);
      return [];
    }
    const callIn = (id: string) => {
      for (const message of recorded.messages) {
        const call = message.role === "assistant" ? message.teller.callOf(id) : undefined;
        if (call !== undefined) return call;
      }
      return undefined;
    };
    const pending = await rath.pending(this.#name);
    const replies: readonly Reply[] = await repliesIn(input, this.#door, pending, callIn);
    await giveReplies(rath, this.#name, replies, this.#door);
    const elsewhere = pending.flatMap(({ id, answered }) => (answered ? [id] : []));
    return [...elsewhere, ...replies.map(({ of }) => of)];
  }

  #say({ id, content }: NonNullable<UiInput["message"]>): Answer {
    const { rath, module, who: by, budget } = this.#door;
    const settings = { by, ...(budget !== undefined && { budget }) };
    return this.#answer({ message: id }, (signal) =>
      rath.stream.turn(module, this.#name, content, { ...settings, signal }),
    );
  }

  #goOn({ session, messages }: Recorded): Answer {
    const running = this.#running();
    if (running !== undefined) return running;
    const { rath, module } = this.#door;
    const begun = messages.findLast((message) => message.role === "assistant");
    const message = messages.findLast(({ role }) => role === "user")?.id;
    // The message is on the record and its run is not: a crash came between them.
    if (session.fact.run === undefined) return this.#run(session, message);
    return this.#answer({ message, begun }, (signal) => {
      const go = () => rath.stream.turn(module, this.#name, undefined, { signal });
      if (begun === undefined) return go();
      return takenOver(rath, this.#name, go, (now) => catchUp(begun, now, module.name), signal);
    });
  }

  #run(session: Session, message: string | undefined): Answer {
    const { rath, module, who: by, budget } = this.#door;
    const settings = { name: this.#name, by, ...(budget !== undefined && { budget }) };
    return this.#answer({ message }, (signal) => rath.stream(module, session, { ...settings, signal }));
  }

  #answer(
    given: Pick<ConstructorParameters<typeof Answer>[0], "message" | "begun">,
    run: ConstructorParameters<typeof Answer>[1],
  ): Answer {
    const { rath } = this.#door;
    const running = answers.get(rath) ?? new Map<string, Answer>();
    answers.set(rath, running);
    const answer = new Answer({ ...given, name: this.#name, after: running.get(this.#name)?.over }, run);
    running.set(this.#name, answer);
    answer.over.finally(() => {
      if (running.get(this.#name) === answer) running.delete(this.#name);
    });
    return answer;
  }

  /** Tries an answer again that failed or was stopped. A finished answer stays: a record is not written twice. */
  #again(recorded: Recorded | undefined, message: string | undefined): Response {
    const status = recorded && statusOf(recorded.session);
    if (
      recorded === undefined ||
      this.#running() !== undefined ||
      (status !== "failed" && status !== "cancelled")
    )
      throw new RequestError(
        409,
        "regenerate-refused",
        "Only an answer that failed or was stopped can be tried again.",
        {
          hint: "send the question again as a new message",
        },
      );
    return this.#run(recorded.session, message).read(this.#door, true);
  }

  async #attach(recorded: Recorded): Promise<Response | undefined> {
    const running = this.#running();
    if (running !== undefined) return running.read(this.#door, true);
    if (await this.#canGoOn(recorded)) return this.#goOn(recorded).read(this.#door, true);
    const now = await this.#recorded();
    if (now === undefined || now.session.id === recorded.session.id) return undefined;
    // It went on elsewhere while it was looked at.
    return (await this.#attach(now)) ?? this.#recordedAnswer(now);
  }

  /** Whether a run was cut off by a crash, or somebody answered what it waits for. */
  async #canGoOn({ session, messages }: Recorded): Promise<boolean> {
    if (messages.length === 0) return false;
    const { rath } = this.#door;
    const status = statusOf(session);
    if (status === "waiting") return (await rath.pending(this.#name)).some(({ answered }) => answered);
    if (status !== "open") return false;
    if (session.fact.run === undefined) return messages.at(-1)?.role === "user";
    return (await recordedRun(await rath.store(), this.#name))?.over === false;
  }

  /** A finished answer as a stream. */
  async #recordedAnswer({ session, messages }: Recorded): Promise<Response> {
    const begun = messages.findLast((message) => message.role === "assistant");
    const waiting = begun ? await awaitedChunks(this.#door, this.#name, session, begun.teller) : [];
    return Answer.told(this.#door, [
      { type: "start", ...(begun && { messageId: begun.id }) },
      ...(begun?.chunks ?? []),
      ...waiting,
      finishOf(session),
    ]);
  }

  #running(): Answer | undefined {
    const newest = answers.get(this.#door.rath)?.get(this.#name);
    return newest?.isOver === true ? undefined : newest;
  }

  async #recorded(): Promise<Recorded | undefined> {
    const { rath, module } = this.#door;
    if ((await (await rath.store()).head(this.#name)) === undefined) return undefined;
    const session = await rath.load(this.#name);
    const messages = messagesIn(session, module.name);
    const newest = messages.at(-1);
    if (newest?.role === "assistant" && statusOf(session) === "waiting")
      await tellCalls(rath, this.#name, newest.teller);
    return { session, messages };
  }
}

function nothingNew(id: string): RequestError {
  return new RequestError(409, "nothing-new", "Nothing new was sent, and nothing waits for it.", {
    hint: "send a new message, or answers to what is asked; reload the messages with GET <api>/<chat id>",
    data: { id },
  });
}
