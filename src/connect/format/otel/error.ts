import { RathError } from "../../../session/index.js";

/** Spans that did not all arrive. */
export class SpansError extends RathError {
  constructor(
    url: string,
    reason: string,
    told: { readonly status?: number; readonly sent: number; readonly of: number },
    hint: string,
    cause?: unknown,
  ) {
    super(
      "spans-not-sent",
      `Cannot send all spans to ${url}: ${reason}. ${told.sent} of ${told.of} are there.`,
      { hint, data: { url, reason, ...told }, ...(cause !== undefined && { cause }) },
    );
  }
}

/** An option, or a variable of the environment, that cannot be used. */
export class SpanOptionError extends RathError {
  constructor(reason: string, hint: string) {
    super("option-refused", `Cannot send spans: ${reason}.`, { hint, data: { reason } });
  }
}
