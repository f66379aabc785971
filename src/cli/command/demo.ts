import { fileURLToPath } from "node:url";
import { describeFact, type Session, toneOf } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { type Input, textOption } from "../entry.js";
import { Lanes } from "../lanes.js";
import { COMMAND, DEMO } from "../location.js";
import { tellOutcome } from "../outcome.js";
import type { Shell } from "../shell.js";
import { brief, count, describe, oneLine, quoted } from "../text.js";

/** `rath demo`, which is `npm start`: runs examples/demo, which uses the package by name, with the output of the command. */
export async function run(shell: Shell, input: Input): Promise<number> {
  const { demo } = (await import(DEMO.href)) as Demonstration;
  return demo(
    {
      shell,
      words: { brief, count, describe, describeFact, Lanes, oneLine, quoted, toneOf },
      command: fileURLToPath(COMMAND),
      tellWaiting: async (session: Session, name: string) =>
        tellOutcome(shell, await shell.rath(), session, { name }),
    },
    () => shell.store(),
    { scripted: input.options.scripted === true, ...defined({ sandbox: textOption(input, "sandbox") }) },
  );
}

type Demonstration = { readonly demo: (...surroundings: readonly unknown[]) => Promise<number> };
