import { randomBytes } from "node:crypto";
import type { CallToolResult, CreateMessageResult, ElicitResult } from "@modelcontextprotocol/client";
import type { Json } from "../../session/index.js";
import {
  type Answers,
  type CallContext,
  type Called,
  type CallSettings,
  emitted,
  type Question,
  questionOf,
} from "./call.js";
import type { Definition } from "./definition.js";
import type { Link } from "./link.js";
import type { Sample } from "./sampling.js";

type Asked = {
  readonly what: { readonly question: Question } | { readonly sample: Sample };
  readonly answer: (answer: CreateMessageResult & ElicitResult) => void;
  readonly refuse: (error: Error) => void;
};

/**
 * A call of a server of 2025, which asks by a request of its own and waits for the answer with the call open. The call
 * and its connection stay aside until somebody answers, or until this process ends.
 */
export class ParkedCall {
  readonly id = randomBytes(9).toString("base64url");
  readonly link: Link;
  readonly #done: Promise<{ readonly result: CallToolResult } | { readonly error: unknown }>;
  readonly #waiting: Asked[] = [];
  readonly #controller = new AbortController();
  readonly #what: string;
  readonly #deadline: number;
  #wake: (() => void) | undefined;
  #asked = 0;
  #context: CallContext;

  constructor(link: Link, definition: Definition, input: Json, settings: CallSettings, context: CallContext) {
    this.link = link;
    this.#context = context;
    this.#what = `the call of ${JSON.stringify(definition.name)}`;
    this.#deadline = settings.deadline;
    link.helper = {
      ...(settings.sampling && {
        sample: (params: unknown) =>
          this.#ask((key) => ({ sample: { key, params: (params ?? {}) as Json } })),
      }),
      elicit: (params) => this.#ask((key) => ({ question: questionOf(key, params) })),
    };
    this.#done = link
      .call({ name: definition.name, arguments: input }, definition, {
        signal: this.#controller.signal,
        patient: true,
        // Whoever goes on with it later is told what happens from then on.
        onprogress: (progress) => this.#context.emit(emitted(settings.server, progress)),
      })
      .then(
        (result) => ({ result: result as CallToolResult }),
        (error: unknown) => ({ error }),
      );
  }

  /** Goes on until there is a result, or a question. */
  async next(context: CallContext): Promise<Called> {
    this.#context = context;
    const stop = (): void => this.#controller.abort(context.signal.reason);
    if (context.signal.aborted) stop();
    context.signal.addEventListener("abort", stop, { once: true });
    // The time that a person takes over an answer is not the server's.
    const late = this.link.late(this.#what);
    const timer = setTimeout(() => this.#controller.abort(late), this.#deadline);
    try {
      const asked = new Promise<"asked">((resolve) => {
        this.#wake = () => resolve("asked");
        if (this.#waiting.length > 0) resolve("asked");
      });
      const first = await Promise.race([this.#done, asked]);
      if (first === "asked")
        return {
          questions: this.#waiting.flatMap(({ what }) => ("question" in what ? [what.question] : [])),
          samples: this.#waiting.flatMap(({ what }) => ("sample" in what ? [what.sample] : [])),
          resume: { parked: this.id },
        };
      if ("error" in first) throw first.error;
      return first;
    } finally {
      clearTimeout(timer);
      context.signal.removeEventListener("abort", stop);
    }
  }

  /** Tells the server what was answered. What came in between is asked in the next round. */
  answer(answers: Answers): void {
    for (const asked of this.#waiting.splice(0)) {
      const { key } = "question" in asked.what ? asked.what.question : asked.what.sample;
      const answer = answers[key];
      if (answer !== undefined) asked.answer(answer as CreateMessageResult & ElicitResult);
      else this.#waiting.push(asked);
    }
  }

  /** Nobody is going to answer: the server is told so, and that nobody waits for its result. */
  drop(why: Error): void {
    for (const { refuse } of this.#waiting.splice(0)) refuse(why);
    this.#controller.abort(why);
  }

  #ask(what: (key: string) => Asked["what"]): Promise<CreateMessageResult & ElicitResult> {
    return new Promise((resolve, reject) => {
      this.#asked += 1;
      this.#waiting.push({ what: what(String(this.#asked)), answer: resolve, refuse: reject });
      this.#wake?.();
    });
  }
}
