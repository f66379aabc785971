import type { Rath } from "../../runtime/index.js";
import type { Session } from "../../session/index.js";
import { countOption, type Input, textOption, textsOption } from "../entry.js";
import { UsageError } from "../error.js";
import { loadProgram } from "../program.js";
import type { Shell } from "../shell.js";
import { argument, plain } from "../text.js";

/** `rath submit FILE`: puts a session into the queue, for workers to run. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const [file = ""] = input.args;
  const { module, options, start } = await loadProgram(file, shell.url);
  const rath = await shell.rath(options);
  const on = textOption(input, "on");
  const text = textOption(input, "input") ?? (on === undefined ? start.text : undefined);
  if (text === undefined && on === undefined)
    throw new UsageError(
      "A new session needs a task.",
      'give the task: rath submit FILE --input "Pay invoice 7."',
    );
  const by = start.by ?? shell.person;
  const [name, queue, notBefore, gate] = ["name", "queue", "notBefore", "gate"].map((option) =>
    textOption(input, option),
  );
  const known = on === undefined && name !== undefined ? await startedAs(rath, name, text) : undefined;
  const base = on === undefined ? (known ?? rath.start(text, { by })) : await rath.load(on);
  const session = on === undefined || text === undefined ? base : base.say(text, { by });
  const priority = textOption(input, "priority");
  const memory = countOption(input, "memory", 1);
  const [labels, sandboxes] = [textsOption(input, "label"), textsOption(input, "needsSandbox")];
  const submitted = await rath.submit(module, session, {
    by,
    needs: {
      ...(labels.length > 0 && { labels }),
      ...(sandboxes.length > 0 && { sandboxes }),
      ...(memory !== undefined && { memory }),
    },
    ...(name !== undefined && { name }),
    ...(queue !== undefined && { queue }),
    ...(notBefore !== undefined && { notBefore }),
    ...(gate !== undefined && { gate }),
    ...(priority !== undefined && { priority: Number(priority) }),
  });
  shell.tell(submitted);
  const state = submitted.repeated ? "was submitted before" : "is in the queue";
  shell.say(`${shell.bold(plain(submitted.name))} ${state}.`);
  shell.hint("rath top", `rath watch ${argument(submitted.name)}`);
}

/** The session that was begun under this name with this task: the same command again is the same submission, not another. */
async function startedAs(rath: Rath, name: string, text: string | undefined): Promise<Session | undefined> {
  const store = await rath.store();
  if ((await store.head(name)) === undefined) return undefined;
  const [first] = (await store.facts(name, { limit: 1 })).items;
  const root = first === undefined ? undefined : await rath.load(first.id);
  return root?.fact.type === "session-start" && root.fact.text === text ? root : undefined;
}
