import type { Observation, Rath } from "../runtime/index.js";
import { factTypes, jsonCopy, type Session } from "../session/index.js";
import { onInterrupt } from "./interrupt.js";
import type { Shell } from "./shell.js";
import { count, describe, oneLine } from "./text.js";

/**
 * Does work that goes on for a while: shows where it stands, tells every fact as a line of JSON where that is asked for,
 * and stops it when somebody presses Ctrl-C. The second time the program ends as it is.
 */
export async function watching<Result>(
  shell: Shell,
  rath: Rath,
  settings: { readonly events: boolean },
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const seen = new Progress(shell);
  const stop = rath.observe((observation) => {
    if (settings.events && observation.kind === "fact") writeEvent(shell, observation.session);
    seen.see(observation);
  });
  const cancelling = new AbortController();
  const interrupt = (why: string): void => {
    if (cancelling.signal.aborted) {
      shell.clear();
      process.exit(130);
    }
    shell.progress("stopping; once more ends it at once …");
    cancelling.abort(new Error(why));
  };
  const end = (): void => interrupt("the process was asked to end");
  const release = onInterrupt(() => interrupt("somebody pressed Ctrl-C"));
  process.on("SIGTERM", end);
  try {
    return await work(cancelling.signal);
  } finally {
    release();
    process.off("SIGTERM", end);
    stop();
    shell.clear();
    if (shell.streams === process) endWithCommand();
  }
}

/** A timer, a connection or a server that a program leaves open does not keep the command once that has its exit code. */
function endWithCommand(): void {
  setInterval(() => {
    if (process.exitCode !== undefined) process.exit();
  }, LEFT_OPEN).unref();
}

/** Milliseconds in which a program may close what it has by itself. */
const LEFT_OPEN = 500;

/** One fact as programs read it, once it is durable. */
function writeEvent(shell: Shell, session: Session): void {
  const { id, parentIds: parents, branch, fact } = session;
  shell.streams.stdout.write(`${JSON.stringify({ id, parents, branch, fact: jsonCopy(fact) })}\n`);
}

/** Where a run stands, in one line: how much was asked so far, and what happened last. */
class Progress {
  readonly #shell: Shell;
  #models = 0;
  #tools = 0;
  readonly #branches = new Set<string>();

  constructor(shell: Shell) {
    this.#shell = shell;
  }

  see(observation: Observation): void {
    if (observation.kind !== "fact") return;
    const { fact } = observation.session;
    if (fact.type === "model-call") this.#models += 1;
    else if (fact.type === "tool-call" || fact.type === "step-call") this.#tools += 1;
    else if (fact.type === "branch-fork") this.#branches.add(fact.name);
    if (!TOLD.has(fact.type)) return;
    const parts = [
      count(this.#models, "model call"),
      count(this.#tools, "call"),
      ...(this.#branches.size > 0 ? [count(this.#branches.size, "branch", "branches")] : []),
    ];
    this.#shell.progress(`${parts.join(", ")} · ${oneLine(describe(fact, 60), 100)}`);
  }
}

const TOLD: ReadonlySet<string> = factTypes(
  "model-call model-reply tool-call tool-failure step-call command-run branch-fork branch-merge",
  "validation-report memory-read memory-write",
);
