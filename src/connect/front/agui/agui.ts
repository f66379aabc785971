import type { Awaited, Budget, Module, Rath, Sender } from "../../../runtime/index.js";
import { CancelledError, mayAnswer, RunFailedError, statusOf } from "../../../runtime/index.js";
import { type Failure, type Json, type Principal, type Session, warnOf } from "../../../session/index.js";
import { defined, optionNames } from "../../../util/index.js";
import { requireModule } from "../../../workflow/index.js";
import type { DoorOptions, Handler } from "../door.js";
import { FrontError, jsonOf, RequestError, refusal, requireDoor, toldOf, whoSent } from "../door.js";
import { EventStream, follow } from "../event-stream.js";
import { type AguiEvent, mergedEvent } from "./event.js";
import { type AguiInput, inputOf } from "./input.js";
import { AguiTeller } from "./teller.js";
import { opened, type Prepared } from "./thread.js";

export type AguiOptions = DoorOptions & {
  /** The name of the session of a thread. Default: `agui/<who>/<thread>`, so that nobody reaches into another's. */
  readonly name?: (threadId: string, who: Principal) => string;
  /** The state that the front end receives when a run ends. Default: id, status and usage of the session. */
  readonly state?: (session: Session) => Json;
  /** The budget of each run. */
  readonly budget?: Budget;
};

/**
 * A module behind the AG-UI protocol, version 1.0: `POST` a `RunAgentInput`, and read what happens as server-sent events.
 * A thread is a session under a name, a run of it a run. A question to a person ends the run with an interrupt; the next
 * request brings the answer in `resume`, and the run goes on.
 *
 * ```ts
 * const handler = agui(rath, assistant, { authorize: (request) => whoIs(request.headers.get("authorization")) });
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
  const busy = new Set<string>();
  return async (request) => {
    try {
      if (request.method !== "POST")
        throw new RequestError(405, "method-refused", "Only POST is answered here.", {
          hint: "POST a RunAgentInput",
        });
      const who = await whoSent(request, options);
      if (who instanceof Response) return who;
      const sender: Sender = { who, selfApproval: options.selfApproval === true };
      const input = inputOf(await jsonOf(request, options));
      const name = nameOf(input.threadId, who, options);
      if (busy.has(name))
        throw new RequestError(409, "thread-busy", "A run of this thread is under way.", {
          hint: "wait until it is over",
          data: { threadId: input.threadId },
        });
      busy.add(name);
      try {
        const prepared = await opened({ rath, module, name, ...sender, input, budget: options.budget });
        return told(rath, name, sender, input, prepared, options, () => busy.delete(name));
      } catch (error) {
        busy.delete(name);
        throw error;
      }
    } catch (error) {
      return refusal(error);
    }
  };
}

const OPTIONS = optionNames<Omit<AguiOptions, keyof DoorOptions>>()("name state budget");

function nameOf(threadId: string, who: Principal, { name }: AguiOptions): string {
  if (name !== undefined) return name(threadId, who);
  return `agui/${encodeURIComponent(who)}/${encodeURIComponent(threadId)}`;
}

/** Lets the run go and tells it while it does. It is nobody's to await: the reader may be gone long before it is over. */
function told(
  rath: Rath,
  name: string,
  sender: Sender,
  input: AguiInput,
  { run, go }: Prepared,
  options: AguiOptions,
  over: () => void,
): Response {
  const { state = stateOf } = options;
  const controller = new AbortController();
  const message = "The reader is too slow; the run goes on.";
  const stream = new EventStream<AguiEvent>(options, controller, {
    late: () => ({ type: "RUN_ERROR", message, code: "reader-late" }),
    merge: mergedEvent,
  });
  const teller = new AguiTeller(input, (event) => stream.send(event));
  teller.started();
  const unfollow = follow(rath, { name, run }, (observation) => teller.hear(observation));
  const work = async (): Promise<void> => {
    try {
      const session = await go(controller.signal);
      teller.ended(session, await awaitedIn(rath, name, sender, session), state(session), "success");
    } catch (error) {
      const session = error instanceof CancelledError ? error.session : undefined;
      if (session !== undefined) teller.ended(session, [], state(session), "cancelled");
      else teller.failed(failureOf(error));
    } finally {
      unfollow();
      over();
      stream.end();
    }
  };
  work().catch((error: unknown) => {
    warnOf(error, "OPENRATH_FRONT");
    stream.end();
  });
  return stream.response();
}

/** The open questions of a run that stopped. */
async function awaitedIn(
  rath: Rath,
  name: string,
  sender: Sender,
  session: Session,
): Promise<readonly (Awaited & { readonly mayAnswer: boolean })[]> {
  if (statusOf(session) !== "waiting") return [];
  const may = await mayAnswer(rath, name, sender);
  const all = (await rath.pending(name)).map((one) => ({ ...one, mayAnswer: may(one) }));
  const open = all.filter(({ answered }) => !answered);
  return open.length > 0 ? open : all;
}

/** The failure of a run is on the record and may be shown to the sender; other errors are the server's own. */
function failureOf(error: unknown): Pick<Failure, "message" | "code"> {
  if (!(error instanceof RunFailedError)) return toldOf(error).told;
  const { message = error.message, code } = Object(error.data.error) as Partial<Failure>;
  return { message, ...defined({ code }) };
}

function stateOf(session: Session): Json {
  return { session: session.id, status: statusOf(session), usage: { ...session.usage } };
}
