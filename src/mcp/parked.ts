import { randomBytes } from "node:crypto";
import type { CallToolResult } from "@modelcontextprotocol/client";
import type { Json } from "../session/index.js";
import {
  type Answer,
  type CallContext,
  type Called,
  type CallSettings,
  emitted,
  type Question,
  questionOf,
  samplerFor,
} from "./call.js";
import type { Definition } from "./definition.js";
import type { Link } from "./link.js";

type Asked = { readonly question: Question; readonly answer: (answer: Answer) => void };

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
  #context: CallContext;

  constructor(link: Link, definition: Definition, input: Json, settings: CallSettings, context: CallContext) {
    this.link = link;
    this.#context = context;
    this.#what = `the call of ${JSON.stringify(definition.name)}`;
    this.#deadline = settings.deadline;
    // Whoever goes on with it later is told what happens from then on.
    const now: CallContext = {
      signal: this.#controller.signal,
      emit: (delta) => this.#context.emit(delta),
      record: (fact) => this.#context.record(fact),
    };
    link.helper = {
      sample: samplerFor(definition, settings, now),
      elicit: (params) =>
        new Promise((resolve) => {
          this.#waiting.push({ question: questionOf(String(this.#waiting.length), params), answer: resolve });
          this.#wake?.();
        }),
    };
    this.#done = link
      .call({ name: definition.name, arguments: input }, definition, {
        signal: this.#controller.signal,
        patient: true,
        onprogress: (progress) => now.emit(emitted(settings.server, progress)),
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
          questions: this.#waiting.map(({ question }) => question),
          resume: { parked: this.id },
        };
      if ("error" in first) throw first.error;
      return first;
    } finally {
      clearTimeout(timer);
      context.signal.removeEventListener("abort", stop);
    }
  }

  /** Tells the server what was answered. */
  answer(answers: { readonly [key: string]: Answer }): void {
    for (const { question, answer } of this.#waiting.splice(0))
      answer(answers[question.key] ?? { action: "cancel" });
  }
}
