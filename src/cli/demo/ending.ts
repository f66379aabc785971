import { statusOf } from "../../runtime/index.js";
import { type FactId, graph, type Session, toMermaid } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import type { Shell } from "../shell.js";
import { count, oneLine } from "../text.js";
import { shown } from "./files.js";
import type { Findings } from "./findings.js";
import { picture } from "./picture.js";

/** A demonstration that is over. */
export type Ending = {
  readonly name: string;
  readonly folder: string;
  readonly program: string;
  readonly again: string;
  readonly session: Session;
  readonly findings: Findings;
  /** Where the validator said no for the first time. */
  readonly rejection: FactId | undefined;
  readonly killed: { readonly pid: number; readonly facts: number } | undefined;
};

/** Ends with the graph, what was found out about the record, and what can be typed next; or all of it as JSON. */
export async function tellEnding(
  shell: Shell,
  store: Store,
  ending: Ending,
  more: { readonly [field: string]: unknown },
): Promise<void> {
  const { session, findings } = ending;
  const { replay, file, facts, intact, lesson, dossier, accepted } = findings;
  shell.say(
    `\n${shell.bold("The graph")}, newest first. What was rejected stays: it is evidence.\n\n${picture(shell, session)}\n`,
  );
  shell.say(
    `${shell.bold("Replayed")} in process ${replay.pid}: no model, no file, no test, and ${replay.same ? shell.green("the same id") : shell.red("ANOTHER ID")} ${shell.id(replay.id ?? session.id)}.`,
  );
  shell.say(
    `${shell.bold("Exported")} to ${shown(file)}: ${count(facts, "fact")}, ${intact ? shell.green("intact") : shell.red("NOT INTACT")}; the SHA-256 of its last line is the id.`,
  );
  if (lesson !== undefined)
    shell.say(
      `${shell.bold("Remembered")} ${shell.id(lesson.id)}: ${oneLine(lesson.text, 160)}\n  because of ${lesson.because.map((id) => id.slice(0, 12)).join(", ")}: the tests that failed, the word of the validator, the tests that pass now`,
    );
  shell.say(
    `${shell.bold("Dossier")} ${shown(dossier.html)}, for a browser; ${shown(dossier.bundle)} proves it.`,
  );
  const verdict = !accepted
    ? shell.red("The issue is not repaired: no patch was accepted.")
    : replay.same && intact
      ? shell.green("All as it should be.")
      : shell.red("SOMETHING IS WRONG.");
  const { calls, input, output } = session.usage;
  shell.say(`\n${verdict} ${count(calls, "model call")}, ${count(input + output, "token")}.`);
  const next = await nextSteps(store, ending);
  shell.hint(...next);
  shell.tell({ ...documentOf(ending), ...more, next });
}

function documentOf({ session, findings, rejection, killed, ...files }: Ending): {
  readonly [field: string]: unknown;
} {
  const { replay, lesson, ...found } = findings;
  return {
    ...files,
    id: session.id,
    status: statusOf(session),
    killed: killed ?? null,
    ...found,
    replay,
    same: replay.same,
    rejection: rejection ?? null,
    memory: lesson === undefined ? null : { id: lesson.id, text: lesson.text, because: lesson.because },
    usage: session.usage,
    mermaid: toMermaid(graph(session)),
  };
}

/** The first of them begins the newcomer's path: fork, run, diff, verify. */
async function nextSteps(store: Store, { name, rejection, findings }: Ending): Promise<readonly string[]> {
  const { lesson, dossier } = findings;
  return [
    ...(rejection === undefined
      ? []
      : [
          `rath fork ${name} --at ${rejection.slice(0, 12)} --name ${await freeName(store)}   # from the rejected patch, with another repair`,
        ]),
    `rath log ${name}   # all that happened`,
    `rath verify ${shown(dossier.bundle)}   # the dossier, on any machine`,
    ...(lesson === undefined ? [] : [`rath memory why ${lesson.id.slice(0, 12)}   # why it is remembered`]),
  ];
}

async function freeName(store: Store): Promise<string> {
  for (let number = 1; ; number++) {
    const free = number === 1 ? "second-try" : `second-try-${number}`;
    if ((await store.head(free)) === undefined) return free;
  }
}
