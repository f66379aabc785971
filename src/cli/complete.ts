import tab from "@bomb.sh/tab/commander";
import type { Command } from "commander";
import { Shell } from "./shell.js";

/** Answers a shell that asks how a command line may go on: `rath complete -- show de`. */
export async function complete(program: Command, words: readonly string[]): Promise<void> {
  const names = await namesHere();
  const root = tab(program);
  for (const command of root.commands.values())
    for (const argument of command.arguments.values())
      if (/^(SESSION.*|A|B)$/.test(argument.name))
        argument.handler = (give) => {
          for (const name of names) give(name, "");
        };
  root.parse([...words]);
}

async function namesHere(): Promise<readonly string[]> {
  const shell = new Shell({});
  try {
    return (await (await shell.store()).names())
      .map(({ name }) => name)
      .filter((name) => !/^(run|answer)\//.test(name));
  } catch {
    // A store that cannot be read is told about by commands, not while somebody types.
    return [];
  } finally {
    await shell.close();
  }
}
