import type { Awaited } from "../../runtime/index.js";
import { type FactId, type Json, RathError, type Settlement } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { type Answering, answering, jsonOption } from "../answering.js";
import { type Input, textOption } from "../entry.js";
import { UsageError } from "../error.js";
import type { Shell } from "../shell.js";
import { argument } from "../text.js";

/** `rath answer SESSION`: a signal, a question of a model, or what became of something in doubt. */
export async function run(shell: Shell, input: Input): Promise<void> {
  const settle = textOption(input, "settle") as Settlement | undefined;
  const value = valueIn(input);
  if (settle === undefined && value === undefined)
    throw new UsageError(
      "There is no answer.",
      "give --value JSON or --text TEXT; for an effect in doubt, --settle done|failed|again",
    );
  if (settle !== undefined && settle !== "done" && value !== undefined)
    throw new UsageError(
      `--settle ${settle} takes no value.`,
      "only --settle done takes a value: --settle done --value JSON",
    );
  return answering(shell, input, async (given, awaited) =>
    settle === undefined ? reply(given, awaited, value as Json) : settled(given, settle, value),
  );
}

function valueIn(input: Input): Json | undefined {
  const value = jsonOption(input, "value");
  const text = textOption(input, "text");
  if (value !== undefined && text !== undefined)
    throw new UsageError("The answer is given twice.", "give either --value JSON or --text TEXT");
  return value ?? text;
}

async function reply({ rath, name, by, ask }: Answering, awaited: readonly Awaited[], value: Json) {
  const open = awaited.filter(
    (one) =>
      !one.answered &&
      (one.type === "signal-await" || one.answer !== undefined) &&
      (ask === undefined || one.id.startsWith(ask)),
  );
  const [only] = open;
  if (only === undefined || open.length > 1)
    throw new RathError(
      "answer-refused",
      only === undefined
        ? `${name} does not wait for an answer of this kind.`
        : `${open.length} requests of ${name} wait for an answer.`,
      {
        hint: `see the waiting requests and their ids: rath pending ${argument(name)}`,
        data: { session: name },
      },
    );
  return { id: await rath.answer(name, only.id, value, by), said: "answered" };
}

async function settled(
  { rath, name, by, ask, why, digest }: Answering,
  decision: Settlement,
  value: Json | undefined,
): Promise<{ readonly id: FactId; readonly said: string }> {
  const id = await rath.settle(name, {
    by,
    decision,
    ...defined({ of: ask, digest }),
    ...(decision === "done" && { value: value ?? null }),
    ...(decision === "failed" && {
      error: { name: "SettledError", message: why ?? "somebody says that it failed" },
    }),
    ...(why !== undefined && { why }),
  });
  return { id, said: decision === "again" ? "to be executed again:" : `settled as ${decision}:` };
}
