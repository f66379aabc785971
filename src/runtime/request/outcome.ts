import { type Failure, readableError } from "../../session/index.js";
import { failureOf } from "../error.js";
import type { Outcome, Request } from "./request.js";

/** How a request failed, in its own words; without a look at the error where that throws. */
export function failedAs(request: Request, error: unknown): Outcome {
  const failure = failureOf(error);
  try {
    return request.failed(failure, error);
  } catch {
    return request.failed(failure, undefined);
  }
}

export function failureOfRequest(request: Request, error: unknown): Failure {
  const { error: failure } = failedAs(request, error) as { readonly error?: Failure };
  return failure ?? failureOf(error);
}

/** An outcome that is made now; an error while making it is a failure. */
export function outcomeBy(make: () => Outcome, request: Request): Outcome {
  try {
    return make();
  } catch (error) {
    return failedAs(request, readableError(error));
  }
}
