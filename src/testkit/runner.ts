import { ok } from "node:assert";
import { RathError } from "../session/index.js";
import { nearestOf } from "../util/index.js";

/** One promise, and the program that tries to break it. Resolves to a note where it does not apply, and why. */
export type ConformanceCase<Subject> = {
  readonly id: string;
  readonly title: string;
  readonly run: (subject: Subject) => Promise<string | undefined>;
};

export type ConformanceReport = {
  readonly passed: number;
  readonly failed: readonly { readonly id: string; readonly title: string; readonly error: Error }[];
  /** Promises that do not apply to the subject, such as surviving a restart to a store in memory, and why. */
  readonly skipped: readonly { readonly id: string; readonly title: string; readonly note: string }[];
};

export type ConformanceOptions = {
  /** Ids of the cases to run; all of them unless given. */
  readonly only?: readonly string[];
  /** Called with one line for each case when it is over. */
  readonly report?: (line: string) => void;
};

/** The subject of a suite breaks a promise. */
export class ConformanceError extends Error {
  readonly id: string;

  constructor(id: string, title: string, cause: unknown) {
    const reason =
      cause instanceof Error
        ? `${"code" in cause ? `${cause.name} ${String(cause.code)}: ` : ""}${cause.message}`
        : String(cause);
    super(`[${id}] ${title}: ${reason}`, { cause });
    this.name = "ConformanceError";
    this.id = id;
  }
}

/** An id that names no case. Without this error, a run of nothing would look like a success. */
export class UnknownCaseError extends RathError {
  constructor(unknown: readonly string[], known: readonly string[]) {
    const [first = ""] = unknown;
    // An id is a few letters and a number: what begins alike is near.
    const letters = /^[A-Za-z]*/.exec(first)?.[0].toUpperCase();
    const alike = known.filter((id) => /^[A-Z]*/.exec(id)?.[0] === letters);
    const near = nearestOf(first, known);
    const meant = [...new Set([...(near === undefined ? [] : [near]), ...alike])].slice(0, 12);
    super(
      "conformance-case-unknown",
      `Cannot run ${unknown.map((id) => JSON.stringify(id)).join(", ")} of the conformance suite: it has no such ${unknown.length === 1 ? "case" : "cases"}.`,
      {
        hint:
          meant.length > 0
            ? `near it are ${meant.join(", ")}`
            : `ids are a letter and a number, such as ${known.slice(0, 3).join(", ")}; list them: storeConformance.map(({ id }) => id), or sandboxConformance`,
        data: { unknown: [...unknown], near: meant },
      },
    );
  }
}

class NotApplicable extends Error {}

/** Ends a case that does not apply to the subject, and says why. */
export function skip(why: string): never {
  throw new NotApplicable(why);
}

/** A case from its title, which begins with the id it proves: `[S1] a saved session loads …`. */
export function caseOf<Subject>(
  quoted: string,
  run: (subject: Subject) => Promise<void>,
): ConformanceCase<Subject> {
  const [, id = "", title = ""] = /^\[(\w+)\] (.*)$/.exec(quoted) ?? [];
  return Object.freeze({
    id,
    title,
    run: async (subject: Subject) => {
      try {
        await run(subject);
        return undefined;
      } catch (error) {
        if (error instanceof NotApplicable) return error.message;
        throw new ConformanceError(id, title, error);
      }
    },
  });
}

/** Runs the cases of a suite one after the other, and says which promises are kept. */
export async function runCases<Subject>(
  cases: readonly ConformanceCase<Subject>[],
  subject: Subject,
  options: ConformanceOptions,
): Promise<ConformanceReport> {
  const { only, report = () => {} } = options;
  const known = cases.map(({ id }) => id);
  const unknown = (only ?? []).filter((id) => !known.includes(id));
  if (unknown.length > 0) throw new UnknownCaseError(unknown, known);
  const failed: { id: string; title: string; error: Error }[] = [];
  const skipped: { id: string; title: string; note: string }[] = [];
  let passed = 0;
  for (const { id, title, run } of cases) {
    if (only !== undefined && !only.includes(id)) continue;
    try {
      const note = await run(subject);
      if (note === undefined) passed += 1;
      else skipped.push({ id, title, note });
      report(note === undefined ? `ok    [${id}] ${title}` : `skip  [${id}] ${title}: ${note}`);
    } catch (error) {
      const told = error instanceof Error ? error : new ConformanceError(id, title, error);
      failed.push({ id, title, error: told });
      report(`FAIL  [${id}] ${title}: ${told.message}`);
    }
  }
  return { passed, failed, skipped };
}

/** Gives up on a promise that never settles, so that a broken subject fails instead of hanging. */
export async function within<Result>(
  what: string,
  promised: Promise<Result>,
  milliseconds = 30_000,
): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`${what} did not happen within ${milliseconds / 1000} s`)),
      milliseconds,
    );
  });
  try {
    return await Promise.race([promised, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Looks again and again until something is so. */
export async function until(
  what: string,
  look: () => Promise<boolean> | boolean,
  milliseconds = 30_000,
): Promise<void> {
  const end = performance.now() + milliseconds;
  while (!(await look())) {
    ok(performance.now() < end, `${what} did not happen within ${milliseconds / 1000} s`);
    await sleep(20);
  }
}

export const sleep = (milliseconds: number): Promise<void> =>
  new Promise((done) => setTimeout(done, milliseconds));

/** Checks that something is refused with an error of one of these codes, and returns the error. */
export async function refusedWith(
  codes: readonly string[],
  what: string,
  attempt: () => unknown,
): Promise<Error & { readonly data: { readonly [key: string]: unknown } }> {
  const expected = `${what}expected an error with the code ${codes.join(" or ")}`;
  try {
    await attempt();
  } catch (error) {
    const found = String((error as { code?: unknown } | null)?.code);
    ok(error instanceof Error && codes.includes(found), `${expected}, got ${found}: ${String(error)}`);
    return error as Error & { readonly data: { readonly [key: string]: unknown } };
  }
  throw new Error(`${expected}, but it was accepted`);
}

export async function collected<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}
