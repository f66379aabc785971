import { spawn } from "node:child_process";
import { pathToFileURL } from "node:url";
import { compile } from "../../../util/testing/compile.js";

/**
 * Runs a function of a module of this folder in a process of its own, until it ends or ends itself; answers with the lines
 * that it printed and how it ended.
 */
export async function inChild(
  module: string,
  name: string,
  ...args: readonly (string | number)[]
): Promise<{
  readonly lines: readonly string[];
  readonly signal: string | null;
  readonly code: number | null;
}> {
  const url = pathToFileURL(compile(`connect/langgraph/testing/${module}.ts`)).href;
  const program = `import { ${name} } from ${JSON.stringify(url)}; await ${name}(...${JSON.stringify(args)});`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
    timeout: 60_000,
  });
  let text = "";
  child.stdout.on("data", (data) => {
    text += data;
  });
  const [code, signal] = await new Promise<[number | null, string | null]>((done) =>
    child.once("close", (ended, by) => done([ended, by])),
  );
  return { lines: text.split("\n").filter((line) => line !== ""), signal, code };
}
