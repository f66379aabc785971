import { types } from "node:util";
import { clip } from "../util/index.js";
import { RathError } from "./error.js";

/**
 * The thrown value in a form that can be looked at: itself, unless looking throws (a revoked proxy, a getter that fails);
 * then a plain error with as much of it as can be read. Whatever runs other people's code passes what it catches
 * through here, so that nothing after it has to fear a thrown value.
 */
export function readableError(thrown: unknown): unknown {
  if (!isObject(thrown)) return thrown;
  try {
    for (let error: unknown = thrown, depth = 0; isObject(error) && depth < DEEPEST; depth++) {
      // A proxy may answer now and throw when it is looked at again.
      if (types.isProxy(error)) return plainError(thrown);
      void (error instanceof Error);
      for (const field of LOOKED_AT) void error[field];
      error = error.cause;
    }
    return thrown;
  } catch {
    return plainError(thrown);
  }
}

/** The message of a thrown value. It never throws, whatever it is. */
export function thrownMessage(thrown: unknown): string {
  const error = readableError(thrown);
  try {
    return error instanceof Error ? String(error.message) : String(error);
  } catch {
    return UNREADABLE;
  }
}

/** Tells the owner of the process what other people's code threw where nobody else hears of it. */
export function warnOf(thrown: unknown, code: string): void {
  // A copy: Node looks at a warning later, and a getter that throws then would end the process.
  const warning = plainError(Object(thrown) as Fields, thrownMessage(thrown));
  for (const field of ["name", "message", "stack"] as const)
    warning[field] = clip(warning[field] ?? "", WARNING_CHARACTERS);
  process.emitWarning(warning, { code });
}

type Fields = { readonly [field: string]: unknown };

const WARNING_CHARACTERS = 8_192;
const DEEPEST = 8;
const UNREADABLE = "an error that cannot be read";
const LOOKED_AT: readonly string[] = [
  ..."name message stack code data hint session".split(" "),
  ..."isRetryable retryAfter statusCode responseHeaders responseBody url".split(" "),
];

function isObject(value: unknown): value is Fields {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

function plainError(thrown: Fields, message = UNREADABLE): Error {
  const read = (field: string): unknown => {
    try {
      return thrown[field];
    } catch {
      return undefined;
    }
  };
  const text = (field: string): string | undefined => {
    const value = read(field);
    return typeof value === "string" ? value : undefined;
  };
  const [code, hint, retryable] = [text("code"), text("hint"), read("isRetryable")];
  const [said = message] = (text("message") ?? message).split("\n  hint: ");
  const error =
    code === undefined || hint === undefined ? new Error(said) : new RathError(code, said, { hint });
  error.name = text("name") ?? "Thrown";
  error.stack = text("stack") ?? `${error.name}: ${error.message}`;
  return Object.assign(
    error,
    code !== undefined && { code },
    typeof retryable === "boolean" && { isRetryable: retryable },
  );
}
