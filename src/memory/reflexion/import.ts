import { digestOf, type FactId, type Json, Session, secretFrom } from "../../session/index.js";
import { defined, optionNames, showValue } from "../../util/index.js";
import { refusing, requireName, requireOptions } from "../../workflow/index.js";
import type { Space } from "../space.js";
import { keyOf } from "./lesson.js";
import { PassedTrialError } from "./trial.js";

/** A trial that somebody else has recorded. */
export type RecordedTrial = {
  readonly task: string;
  readonly trial: number;
  readonly passed: boolean;
  /** The lesson of the trial. Only a failed trial has one. */
  readonly reflection?: string;
  readonly detail?: Json;
};

export type ImportTrialsOptions = {
  /** The name of the recording on the record: a file, an address. */
  readonly source: string;
  /** The recording itself: its digest is on the record, and with it the same recording gives the same sessions. */
  readonly text: string;
  /** When it happened, as far as that is known. Default: now. */
  readonly at?: string;
  /** The agent of the trials. Default "reflexion". */
  readonly agent?: string;
};

/** A recorded trial after its import. */
export type ImportedTrial = {
  readonly task: string;
  readonly trial: number;
  /** The `validation-report` of its outcome. */
  readonly report: FactId;
  readonly memory?: FactId;
  /** Where the space stood after it. */
  readonly head?: FactId;
};

const KNOWN = optionNames<ImportTrialsOptions>()("source text at agent");
const EXAMPLE = 'importTrials(space, trials, { source: "trials.json", text })';

/**
 * Imports trials as sessions, one for each task, with each outcome as a `validation-report` and each
 * reflection as a memory that cites it. A reflection on a passed trial is refused first.
 */
export async function importTrials(
  space: Space,
  trials: readonly RecordedTrial[],
  options: ImportTrialsOptions,
): Promise<{ readonly trials: readonly ImportedTrial[]; readonly sessions: readonly Session[] }> {
  const refuse = refusing("an import of trials");
  requireOptions(options, refuse, EXAMPLE, KNOWN);
  requireName(options.source, "import", EXAMPLE);
  const { source, text, at = new Date().toISOString(), agent = "reflexion" } = options;
  if (typeof text !== "string") throw refuse(`its \`text\` is ${showValue(text)}`, EXAMPLE);
  for (const { task, trial, passed, reflection } of trials)
    if (passed && reflection !== undefined)
      throw new PassedTrialError(`import trial ${trial} of "${task.slice(0, 80)}"`, "the trial passed");
  const digest = digestOf(text);
  const sessions = new Map<string, Session>();
  const imported: ImportedTrial[] = [];
  for (const { task, trial, passed, reflection, detail } of trials) {
    const key = keyOf(task);
    const before = sessions.get(key) ?? begun(task, text, { source, digest, at });
    const session = before.append({
      type: "validation-report",
      name: `trial ${trial}`,
      passed,
      ...defined({ detail }),
      of: before.id,
      by: "service",
      at,
    });
    sessions.set(key, session);
    const written =
      reflection === undefined
        ? undefined
        : await space.write(
            {
              text: reflection,
              because: [session.id],
              source: "failed-attempt",
              by: `agent:${agent}`,
              subject: key,
              meta: { imported: source, trial },
            },
            { from: session, key: `${digest}:${key}:${trial}` },
          );
    imported.push({
      task,
      trial,
      report: session.id,
      ...(written !== undefined && { memory: written.memory, head: written.head }),
    });
  }
  for (const session of sessions.values()) await space.store.save(session);
  return { trials: imported, sessions: [...sessions.values()] };
}

function begun(
  task: string,
  text: string,
  { source, digest, at }: { readonly source: string; readonly digest: string; readonly at: string },
): Session {
  const secret = secretFrom(text, task);
  return Session.start(task, { nonce: `${digest}:${task}`, at, secret }).append({
    type: "record-import",
    format: "reflexion",
    source,
    digest,
    detail: { task },
    by: "runtime",
    at,
  });
}
