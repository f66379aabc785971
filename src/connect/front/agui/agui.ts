import { randomUUID } from "node:crypto";
import { type Budget, type Module, type Rath, statusOf } from "../../../runtime/index.js";
import type { Json, Principal, Session } from "../../../session/index.js";
import { defined, optionNames } from "../../../util/index.js";
import { requireModule } from "../../../workflow/index.js";
import { senderOf } from "../answer.js";
import type { DoorOptions, Handler } from "../door.js";
import { FrontError, jsonOf, namePart, RequestError, refusal, requireDoor } from "../door.js";
import { AguiAnswer, type Reader } from "./answer.js";
import { type AguiInput, idOf, inputOf } from "./input.js";
import { foreign, looked, opened } from "./thread.js";

export type AguiOptions = DoorOptions & {
  /** The name of the session of a thread. Default: `agui/<who>/<thread>`, so that nobody reaches into another's. */
  readonly name?: (threadId: string, who: Principal) => string;
  /** Our part of the state of the app, under `openrath`, when a run ends. Default: id, status and usage of the session. */
  readonly state?: (session: Session) => Json;
  /** The budget of each run. */
  readonly budget?: Budget;
};

/**
 * A module behind the AG-UI protocol, version 1.0: `POST` a `RunAgentInput`, and read what happens as server-sent events.
 * A thread is a session under a name, a run of it a run. A question to a person ends the run with an interrupt; the next
 * request brings the answer in `resume`, and the run goes on. `GET ?threadId=…`, and a `POST` without anything new, give the
 * messages of a thread and attach to the answer that is under way.
 *
 * ```ts
 * const handler = agui(rath, assistant, { principal: (request) => whoIs(request.headers.get("authorization")) });
 * const response = await handler(request);
 * ```
 *
 * The record is the truth: of the messages that a front end sends only those of the user that are new are taken.
 */
export function agui(rath: Rath, module: Module, options: AguiOptions): Handler {
  requireModule(module, "agui");
  requireDoor("agui", options, OPTIONS);
  for (const option of ["name", "state"] as const)
    if (options[option] !== undefined && typeof options[option] !== "function")
      throw new FrontError("agui", `its \`${option}\` must be a function`, `${option}: (…) => …`);
  const { budget, state = stateOf } = options;
  return async (request) => {
    try {
      if (request.method !== "POST" && request.method !== "GET")
        throw new RequestError(405, "method-refused", "Only GET and POST are supported here.", {
          hint: "POST a RunAgentInput, or GET ?threadId=… to read a thread",
        });
      const sender = await senderOf(request, options);
      if (sender instanceof Response) return sender;
      const input = request.method === "POST" ? inputOf(await jsonOf(request, options)) : undefined;
      const { threadId, runId, parentRunId } = input ?? askedFor(request);
      const reader: Reader = { threadId, runId, sender, ...defined({ parentRunId }) };
      const name = nameOf(threadId, sender.who, options);
      const given = { rath, module, name, budget, sender };
      const begin = async (): Promise<AguiAnswer> => {
        const prepared = await (input === undefined ? looked(given) : opened({ ...given, input }));
        return new AguiAnswer({ rath, name, options: { ...options, state }, input, reader }, prepared);
      };
      return await answerFor(
        rath,
        name,
        (current) => attached(current, reader, input),
        async () => (await begun(rath, name, begin())).first,
      );
    } catch (error) {
      return refusal(error);
    }
  };
}

/** The answers that are prepared, or under way, in this process: those of a runtime by the names of its threads. */
const answers = new WeakMap<Rath, Map<string, Promise<AguiAnswer>>>();

/** Attaches to the answer of a thread that is under way, or begins one: nobody else can begin one in between. */
async function answerFor(
  rath: Rath,
  name: string,
  attach: (current: AguiAnswer) => Response,
  begin: () => Promise<Response>,
): Promise<Response> {
  const next = (): Promise<AguiAnswer> | undefined => answers.get(rath)?.get(name);
  for (let found = next(); found !== undefined; found = next()) {
    const current = await found.catch(() => undefined);
    if (current?.goes === true && next() === found) return attach(current);
    await current?.over;
  }
  return begin();
}

/** Keeps an answer for others to attach to, for as long as its run goes. */
async function begun(rath: Rath, name: string, beginning: Promise<AguiAnswer>): Promise<AguiAnswer> {
  const all = answers.get(rath) ?? new Map<string, Promise<AguiAnswer>>();
  answers.set(rath, all.set(name, beginning));
  const over = (): void => {
    if (all.get(name) === beginning) all.delete(name);
  };
  try {
    const answer = await beginning;
    if (answer.runs) answer.over.then(over, over);
    else over();
    return answer;
  } catch (error) {
    over();
    throw error;
  }
}

/** Attaches a reader to a run that goes. Messages that it brings are refused: it can send them afterwards. */
function attached(current: AguiAnswer, reader: Reader, input: AguiInput | undefined): Response {
  if (reader.sender.isKnown === false && current.reader.sender.isKnown !== false) throw foreign();
  if (input === undefined || !current.isNews(input)) return current.read(reader, true);
  const { threadId } = reader;
  throw new RequestError(409, "thread-busy", "A run of this thread is under way.", {
    hint: "wait until it is over; without new messages, or by GET, you can read it",
    data: { threadId },
  });
}

/** The thread that a GET asks for. */
function askedFor(request: Request): Pick<AguiInput, "threadId" | "runId" | "parentRunId"> {
  const { searchParams } = new URL(request.url);
  const runId = searchParams.get("runId");
  return {
    threadId: idOf(searchParams.get("threadId"), "threadId"),
    runId: runId === null ? randomUUID() : idOf(runId, "runId"),
  };
}

const OPTIONS = optionNames<Omit<AguiOptions, keyof DoorOptions>>()("name state budget");

function nameOf(threadId: string, who: Principal, { name }: AguiOptions): string {
  if (name !== undefined) return name(threadId, who);
  return `agui/${encodeURIComponent(who)}/${namePart(threadId)}`;
}

function stateOf(session: Session): Json {
  return { session: session.id, status: statusOf(session), usage: { ...session.usage } };
}
