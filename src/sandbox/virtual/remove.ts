import type { VirtualCommand } from "./shell.js";
import type { ShellFiles } from "./shell-files.js";

type Result = { stdout: string; stderr: string; exitCode: number };

type Context = {
  readonly fs: Pick<ShellFiles, "lstat" | "rm" | "resolvePath">;
  readonly cwd: string;
  readonly origCommand?: (args: string[]) => Promise<Result>;
};

/**
 * The shell's own `rm` looks where a link leads before it removes the link: it takes one to a directory for a directory,
 * and one that leads nowhere for nothing, which `-f` then passes over in silence. So links are removed here, and the
 * rest is left to it.
 */
export const remove: VirtualCommand = {
  name: "rm",
  async execute(args: string[], context: object): Promise<Result> {
    const { fs, cwd, origCommand } = context as Context;
    const others: string[] = [];
    let [isOption, left] = [true, 0];
    for (const argument of args) {
      const isPath = !isOption || !argument.startsWith("-") || argument === "-";
      if (argument === "--") isOption = false;
      if (isPath && (await removedLink(fs, fs.resolvePath(cwd, argument)))) continue;
      if (isPath) left += 1;
      others.push(argument);
    }
    const isDone = left === 0 && others.length < args.length;
    if (isDone || origCommand === undefined) return { stdout: "", stderr: "", exitCode: 0 };
    return origCommand(others);
  },
};

async function removedLink(fs: Context["fs"], path: string): Promise<boolean> {
  try {
    if (!(await fs.lstat(path)).isSymbolicLink) return false;
    await fs.rm(path);
    return true;
  } catch {
    // Whatever it is, the shell's own has the words for it.
    return false;
  }
}
