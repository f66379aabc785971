import { spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import ts from "typescript";

/** Nobody in particular. */
const USER = 65_534;
const source = fileURLToPath(new URL("../../../", import.meta.url));
const script = fileURLToPath(new URL("./run.mjs", import.meta.url));

/** What became of a case: nothing more to say, a note why it does not apply, or what is wrong. */
export type Told = { readonly id: string; readonly note?: string; readonly error?: string };

/** The suite on a provider, in a process of an ordinary user. */
export class OtherUser {
  /** Why there cannot be one here. */
  readonly obstacle: string | undefined;
  readonly #folder: string | undefined;
  readonly #told = new Map<string, Told>();
  readonly #waiting = new Map<string, () => void>();
  #end: Promise<void> = Promise.resolve();
  #over = false;
  #stop: () => void = () => {};
  #lastWords = "";

  constructor(kind: "local" | "host") {
    this.obstacle = obstacle();
    if (this.obstacle !== undefined) return;
    const folder = mkdtempSync(join(tmpdir(), "openrath-other-user-"));
    this.#folder = folder;
    compile(folder);
    this.#start(folder, kind);
  }

  /** What became of a case, as soon as that is known. */
  async told(id: string): Promise<Told> {
    if (!this.#told.has(id) && !this.#over)
      await Promise.race([new Promise<void>((resolve) => this.#waiting.set(id, resolve)), this.#end]);
    return (
      this.#told.get(id) ?? { id, error: `the process ended without a word about it: ${this.#lastWords}` }
    );
  }

  async close(): Promise<void> {
    this.#stop();
    await this.#end;
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
  }

  #start(folder: string, kind: string): void {
    const home = join(folder, "home");
    mkdirSync(home, { mode: 0o700 });
    chownSync(home, USER, USER);
    const become = [`--reuid=${USER}`, `--regid=${USER}`, "--clear-groups", "--no-new-privs"];
    const child = spawn("setpriv", [...become, process.execPath, join(folder, "run.mjs"), kind], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? "", HOME: home, TMPDIR: home },
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#end = new Promise<void>((resolve) => {
      child.once("error", () => resolve());
      child.once("close", () => resolve());
    }).then(() => {
      this.#over = true;
    });
    this.#stop = () => child.kill("SIGTERM");
    child.stderr.on("data", (words) => {
      this.#lastWords = `${this.#lastWords}${words}`.slice(-2000);
    });
    createInterface({ input: child.stdout }).on("line", (line) => {
      const told: Told = JSON.parse(line);
      this.#told.set(told.id, told);
      this.#waiting.get(told.id)?.();
    });
  }
}

function obstacle(): string | undefined {
  if (process.getuid?.() !== 0)
    return "only root can become another user; the suite above is that of an ordinary one";
  const who = ["--reuid=65534", "--regid=65534", "--clear-groups", process.execPath, "--version"];
  const { status, error } = spawnSync("setpriv", who, { stdio: "ignore" });
  if (error !== undefined) return "there is no setpriv, which becomes another user: apt install util-linux";
  return status === 0 ? undefined : "another user cannot run this node";
}

/** The sources as JavaScript: Node 20 reads no TypeScript. */
function compile(folder: string): void {
  chmodSync(folder, 0o755);
  for (const part of ["util", "session", "store", "sandbox", "testkit"])
    for (const file of readdirSync(join(source, part), { recursive: true, encoding: "utf8" })) {
      if (!file.endsWith(".ts") || /\.test(-d)?\.ts$|(^|\/)testing\//.test(file)) continue;
      const target = join(folder, part, file.replace(/\.ts$/, ".js"));
      mkdirSync(dirname(target), { recursive: true });
      const { outputText } = ts.transpileModule(readFileSync(join(source, part, file), "utf8"), {
        compilerOptions: {
          module: ts.ModuleKind.ESNext,
          target: ts.ScriptTarget.ES2022,
          verbatimModuleSyntax: true,
        },
      });
      writeFileSync(target, outputText);
    }
  writeFileSync(join(folder, "package.json"), '{"type":"module"}');
  writeFileSync(join(folder, "run.mjs"), readFileSync(script));
  symlinkSync(join(source, "..", "node_modules"), join(folder, "node_modules"));
}
