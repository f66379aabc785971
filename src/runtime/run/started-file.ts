import { dirname, isAbsolute, relative, sep } from "node:path";
import { homeOf } from "../../store/index.js";

let known: { readonly file: string | undefined } | undefined;

/**
 * The file that this process was started with, `node order.mjs`, seen from the folder of the project: to start it again is
 * how to resume its runs. Arguments may hold secrets, so a program with arguments is not named, nor is one of a package.
 */
export function startedFile(): string | undefined {
  known ??= { file: fileIn(process.argv) };
  return known.file;
}

function fileIn([, file, ...args]: readonly string[]): string | undefined {
  if (file === undefined || args.length > 0) return undefined;
  const path = relative(dirname(homeOf(process.env, process.cwd())), file).replaceAll(sep, "/");
  return path === "" || isAbsolute(path) || /^\.\.|(^|\/)node_modules\//.test(path) ? undefined : path;
}
