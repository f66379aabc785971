import type { FactId } from "../../session/index.js";
import { MemoryRefusedError } from "../error.js";

/** A reflection on a trial that did not fail. It would be a lesson from nothing, so nothing was written. */
export class PassedTrialError extends MemoryRefusedError {
  constructor(use: string, reason: string, report?: FactId) {
    super(
      "refused",
      use,
      reason,
      'name the validation that failed: the id of a { type: "validation-report", passed: false }',
      report === undefined ? {} : { report },
    );
  }
}

/** A validation that found nothing: whether a trial passed is then not known, and is not guessed. */
export class NoVerdictError extends MemoryRefusedError {
  constructor(name: string, validate: string) {
    super(
      "evidence",
      `go on in reflexion "${name}"`,
      `"${validate}" left no validation`,
      'let it append({ type: "validation-report", name, passed }), or give { passed, detail }',
      { validate },
    );
  }
}
