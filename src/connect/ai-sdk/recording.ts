import type { Generated, Streamed } from "../../agent/model/index.js";
import type { Rath } from "../../runtime/index.js";
import { RathError, Session } from "../../session/index.js";
import { type Asked, type End, Recorder, type SdkModel, streamOf } from "./recorder.js";
import { Replayer } from "./replayer.js";

export type RecordingOptions = {
  /** The session to continue; in a replay, the recorded session. */
  readonly session: Session;
  /** "record" asks the model and notes what happens; "replay" answers from the record and asks nobody. */
  readonly mode?: "record" | "replay";
  /** The name of the agent in the record. Default "ai-sdk". */
  readonly agent?: string;
  /**
   * Where to keep the session. It is saved before the model is asked, so that a taken name is refused first, and after
   * every reply, before the program receives the reply.
   */
  readonly rath?: Pick<Rath, "save">;
  readonly name?: string;
};

/**
 * A middleware for `wrapLanguageModel` of the AI SDK, version 5, 6 or 7. Its types are written down here, so that nobody
 * needs the AI SDK to compile; `recording.test-d.ts` proves that they fit.
 */
export interface Recording {
  readonly specificationVersion: "v3";
  readonly middlewareVersion: "v2";
  /** The session recorded so far; in a replay, how far the program has come in its record. */
  readonly session: Session;
  wrapGenerate<Result>(options: {
    readonly doGenerate: () => PromiseLike<Result>;
    readonly params: object;
    readonly model: SdkModel;
  }): Promise<Result>;
  wrapStream<Result>(options: {
    readonly doStream: () => PromiseLike<Result>;
    readonly params: object;
    readonly model: SdkModel;
  }): Promise<Result>;
}

/**
 * Records each `generateText` and `streamText` of a program that keeps its own loop, and replays them.
 *
 * ```ts
 * const tape = recording(rath.start());
 * const model = wrapLanguageModel({ model: openai("gpt-5"), middleware: tape });
 * await generateText({ model, prompt: "Hello?" });
 * tape.session.transcript;
 * ```
 *
 * Tools belong to the loop: in a replay they run again, and must answer as they did.
 */
export function recording(given: Session | RecordingOptions): Recording {
  const {
    session,
    mode = "record",
    agent = "ai-sdk",
    rath,
    name,
  } = given instanceof Session ? ({ session: given } as RecordingOptions) : given;
  if (rath === undefined && name !== undefined)
    throw new RathError("option-refused", `Cannot keep the recording as "${name}": there is no store.`, {
      hint: "say where: recording({ session, rath, name })",
      data: { name },
    });
  return mode === "replay"
    ? replays(new Replayer(session, agent))
    : records(new Recorder(session, agent), keeper(rath, name));
}

function replays(replayer: Replayer): Recording {
  return {
    specificationVersion: "v3",
    middlewareVersion: "v2",
    get session() {
      return replayer.session;
    },
    wrapGenerate: async <Result>({ params, model }: Wrapped) => replayer.generate(params, model) as Result,
    wrapStream: async <Result>({ params, model }: Wrapped) => replayer.stream(params, model) as Result,
  };
}

type Wrapped = { readonly params: object; readonly model: SdkModel };

function records(recorder: Recorder, keep: (session: Session) => Promise<void>): Recording {
  return {
    specificationVersion: "v3",
    middlewareVersion: "v2",
    get session() {
      return recorder.session;
    },
    async wrapGenerate({ doGenerate, params, model }) {
      await keep(recorder.session);
      const asked = recorder.ask(params, model);
      const result = await attempted(asked, doGenerate);
      await recorder.generated(asked, result as Generated);
      await keep(recorder.session);
      return result;
    },
    async wrapStream({ doStream, params, model }) {
      await keep(recorder.session);
      const asked = recorder.ask(params, model);
      const result = await attempted(asked, doStream);
      const { stream, ...rest } = result as Streamed;
      const watched = watch(stream, async (parts, end) => {
        await recorder.streamed(asked, result as Streamed, parts, end);
        await keep(recorder.session);
      });
      return { ...rest, stream: watched } as typeof result;
    },
  };

  async function attempted<Result>(asked: Asked, attempt: () => PromiseLike<Result>): Promise<Result> {
    try {
      return await attempt();
    } catch (error) {
      recorder.failed(asked, error);
      await keep(recorder.session);
      throw error;
    }
  }
}

type Piece = { readonly type: string };

/**
 * The same stream, and word of how it ended. Its last piece is held back until that is noted: a reader of the end may ask
 * the next question at once.
 */
function watch(
  stream: Streamed["stream"],
  ended: (parts: readonly Piece[], end: End) => Promise<void>,
): ReadableStream<Piece> {
  const reader = stream.getReader();
  const parts: Piece[] = [];
  let rest: ReadableStreamDefaultReader<Piece> | undefined;
  let noted: Promise<void> | undefined;
  // A reader may leave while the next piece is awaited or the end is noted: it ends once.
  const note = (end: End): Promise<void> => {
    noted ??= ended(parts, end);
    return noted;
  };
  return new ReadableStream<Piece>({
    async pull(controller) {
      if (rest !== undefined) {
        const { done, value } = await rest.read();
        if (done) controller.close();
        else controller.enqueue(value);
        return;
      }
      const before = parts.length;
      try {
        let next = await reader.read();
        while (!next.done) {
          parts.push(next.value as Piece);
          if (!parts.slice(before).some(({ type }) => type === "finish")) {
            controller.enqueue(next.value as Piece);
            return;
          }
          next = await reader.read();
        }
      } catch (error) {
        await note({ type: "broken", error });
        controller.error(error);
        return;
      }
      await note({ type: "closed" });
      rest = streamOf(parts.slice(before)).getReader();
      const { done, value } = await rest.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel(reason) {
      await note({ type: "left" });
      await reader.cancel(reason);
    },
  });
}

/** Saves one session after the other. */
function keeper(
  rath: RecordingOptions["rath"],
  name: string | undefined,
): (session: Session) => Promise<void> {
  if (rath === undefined) return async () => {};
  let last: Promise<unknown> = Promise.resolve();
  return async (session) => {
    const saved = last.catch(() => {}).then(() => rath.save(session, name));
    last = saved;
    await saved;
  };
}
