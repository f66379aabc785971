import { type Digest, type FactId, type Json, RathError } from "../../session/index.js";

/** The prompt that the record gives is not the one that was sent: the record or the rendering has changed. */
export class PromptMismatchError extends RathError {
  constructor(call: FactId, recorded: Digest, rendered: Digest) {
    super(
      "prompt-mismatch",
      `The prompt of call ${call.slice(0, 12)} renders to ${rendered.slice(0, 12)}, but ${recorded.slice(0, 12)} was recorded.`,
      {
        hint: "render it with the version of openrath that made the call, or verify the record",
        data: { call, recorded, rendered },
      },
    );
  }
}

/** Some content of a prompt was erased or is missing. */
export class WithheldPromptError extends RathError {
  constructor(what: string, content: readonly { readonly reason: string; readonly digest: Digest }[]) {
    const reasons = [...new Set(content.map(({ reason }) => reason))].join(" or ");
    super("prompt-withheld", `Cannot render ${what} again: content of it is ${reasons}.`, {
      hint: "erased content cannot come back; missing content can be imported with its blobs",
      data: { content: content.map(({ reason, digest }) => ({ reason, digest })) },
    });
  }
}

/** A session without the model call, or a call without the configuration, that the question needs. */
export class NoPromptError extends RathError {
  constructor(session: FactId, reason: string) {
    super("no-prompt", `There is no prompt to render at ${session.slice(0, 12)}: ${reason}.`, {
      hint: "pass a session whose fact is a model-call with `config` and `prompt`",
      data: { session, reason },
    });
  }
}

/** A scripted model was asked more often than it has replies. */
export class ScriptEndedError extends RathError {
  constructor(model: string, asked: number, replies: number) {
    super(
      "script-ended",
      `The scripted model "${model}" has ${replies} replies and was asked for reply number ${asked + 1}.`,
      {
        hint: "add a reply, or end with a function, which answers from there on: scripted(…, (prompt) => …)",
        data: { model, asked: asked + 1, replies },
      },
    );
  }
}

/** A recorded model was asked something that the record has no answer to. */
export class NotRecordedError extends RathError {
  constructor(prompt: Digest, nearest: { readonly [field: string]: Json } | null) {
    const near =
      nearest === null
        ? "it records no calls"
        : `the nearest prompt has ${nearest.same} of ${nearest.lines} lines in common`;
    super("not-recorded", `The record holds no reply to the prompt ${prompt.slice(0, 12)}: ${near}.`, {
      hint: "compare `data.asked` with `data.recorded`, the first lines that differ; or let a live model answer",
      data: { prompt, nearest },
    });
  }
}

/** A package that only some people need is not installed. */
export class MissingPackageError extends RathError {
  constructor(name: string, use: string, cause: unknown) {
    super("package-missing", `Cannot use ${use}: the package ${name} is not installed.`, {
      hint: `npm install ${name}`,
      data: { package: name },
      cause,
    });
  }
}
