import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";
import { onTestFinished } from "vitest";

const source = fileURLToPath(new URL("../../..", import.meta.url));
/** Nothing that runs in a child needs these. */
const UNUSED = /\.test|testing|^(conformance|docker|virtual|job)\b/;
let built: string | undefined;

/** The sources as JavaScript that a child process can run: Node 20 reads no TypeScript. */
function build(): string {
  if (built !== undefined) return built;
  // Inside node_modules, so that the packages the sources need are found.
  built = join(source, "..", "node_modules", ".cache", "openrath-test-sandbox", String(process.pid));
  const target = built;
  process.once("exit", () => rmSync(target, { recursive: true, force: true }));
  for (const folder of ["util", "session", "store", "sandbox"]) {
    for (const name of readdirSync(join(source, folder), { recursive: true, encoding: "utf8" })) {
      if (!name.endsWith(".ts") || UNUSED.test(name)) continue;
      const { outputText } = ts.transpileModule(readFileSync(join(source, folder, name), "utf8"), {
        compilerOptions: {
          module: ts.ModuleKind.ESNext,
          target: ts.ScriptTarget.ES2022,
          verbatimModuleSyntax: true,
        },
      });
      const file = join(built, folder, name.replace(/\.ts$/, ".js"));
      mkdirSync(join(file, ".."), { recursive: true });
      writeFileSync(file, outputText);
    }
  }
  writeFileSync(join(built, "package.json"), '{"type":"module"}');
  return built;
}

/** A process that runs a program of ours. `import { x } from "@/sandbox/…"` in it means the sources. */
export class Child {
  readonly process: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  /**
   * @param options.leak a descriptor that the process gets as number 40, and does not know of
   * @param options.user who runs it, where we may choose
   * @param options.within the program that it is started by, and its arguments
   */
  constructor(
    program: string,
    args: readonly string[] = [],
    options: { readonly leak?: number; readonly user?: number; readonly within?: readonly string[] } = {},
  ) {
    const { leak, user, within = [] } = options;
    const folder = build();
    const file = join(folder, `child-${process.hrtime.bigint()}.js`);
    writeFileSync(file, program.replaceAll('"@/', `"${pathToFileURL(folder).href}/`));
    const [command = "", ...words] = [...within, process.execPath, file, ...args];
    this.process = spawn(command, words, {
      stdio: [
        ...(["pipe", "pipe", "inherit"] as const),
        ...(leak === undefined ? [] : [...Array<"ignore">(37).fill("ignore"), leak]),
      ],
      ...(user !== undefined && { uid: user, gid: user, env: { PATH: process.env.PATH, HOME: "/" } }),
    });
    this.process.stdin?.on("error", () => {});
    this.#lines = createInterface({ input: this.process.stdout as NodeJS.ReadableStream })[
      Symbol.asyncIterator
    ]();
    onTestFinished(() => {
      this.process.kill("SIGKILL");
    });
  }

  /** The next line it tells, as JSON. One that tells nothing for a minute will not. */
  async next<Told>(): Promise<Told> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error("the process has told nothing for a minute")), 60_000);
    });
    try {
      const { value, done } = await Promise.race([this.#lines.next(), late]);
      if (done) throw new Error("the process ended without a word");
      return JSON.parse(value) as Told;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends it as a crash would, and waits until it is over. */
  async crash(): Promise<void> {
    const over = this.ended();
    this.process.kill("SIGKILL");
    await over;
  }

  async ended(): Promise<number | null> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return this.process.exitCode;
    return new Promise((resolve) => {
      this.process.once("exit", resolve);
    });
  }
}
