import type { Draft, Failure } from "../../session/index.js";

/** Characters of an error's message that are recorded. */
export const MESSAGE_CHARACTERS = 8_192;
/** Characters of an error's data, as JSON, that are recorded. */
export const DATA_CHARACTERS = 65_536;

const FAILURES: ReadonlySet<string> = new Set([
  "effect-doubt",
  "effect-fail",
  "model-failure",
  "module-exit",
  "run-end",
  "step-failure",
  "tool-failure",
]);

/**
 * The fact with an error of bounded length, or the fact itself. An error may hold the page that a server answered with, and
 * is recorded again by each module that it passes through: 20 MB would be 60.
 */
export function withoutLongText(fact: Draft): Draft {
  const { error } = fact as { readonly error?: Failure };
  if (error === undefined || !FAILURES.has(fact.type)) return fact;
  const cut = boundedFailure(error);
  return cut === error ? fact : { ...fact, error: cut };
}

export function boundedFailure(error: Failure): Failure {
  let { message, data } = error;
  if (message.length > MESSAGE_CHARACTERS) {
    const note = ` … [cut: ${message.length} characters]`;
    message = message.slice(0, MESSAGE_CHARACTERS - note.length).toWellFormed() + note;
  }
  const { length } = data === undefined ? "" : JSON.stringify(data);
  if (length > DATA_CHARACTERS) data = { cut: `${length} characters of data were not recorded` };
  if (message === error.message && data === error.data) return error;
  return { ...error, message, ...(data !== undefined && { data }) };
}
