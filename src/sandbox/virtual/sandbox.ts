import type { Digest } from "../../session/index.js";
import { commandFault } from "../check-call.js";
import { limitsOf, secretsOf } from "../check-spec.js";
import { Life } from "../life.js";
import { OpenSandbox, type OpenSandboxOptions } from "../open-sandbox.js";
import { namesOf } from "../path.js";
import type {
  CreateOptions,
  ExecOptions,
  Execution,
  ForkOptions,
  Sandbox,
  SandboxFiles,
  Snapshot,
} from "../sandbox.js";
import type { Limits, SandboxSpec, SandboxStatus } from "../spec.js";
import { VirtualExecution } from "./execution.js";
import { VirtualFiles } from "./files.js";
import { Interpreter } from "./interpreter.js";
import type { Directory } from "./node.js";
import type { Shell, VirtualCommand } from "./shell.js";
import { Keeper } from "./snapshot.js";
import { Space } from "./space.js";

export type VirtualSandboxOptions = Omit<OpenSandboxOptions, "create"> & {
  readonly shell: Shell;
  readonly commands: readonly VirtualCommand[];
  readonly now: () => number;
  /** What a fork begins with, instead of the tree. */
  readonly space?: Space;
  /** Opens another one of the same kind; with a space, with its files. */
  readonly create: (spec: SandboxSpec, options: CreateOptions, space?: Space) => Promise<Sandbox>;
  /** Called when it is destroyed. */
  readonly over: () => void;
};

/** A sandbox without an operating system: a shell that is interpreted, over files that are in memory. */
export class VirtualSandbox extends OpenSandbox {
  readonly files: SandboxFiles;
  readonly #options: VirtualSandboxOptions;
  readonly #limits: Required<Limits>;
  readonly #interpreter: Interpreter;
  readonly #space: Space;
  readonly #running = new Set<VirtualExecution>();
  readonly #life: Life;
  #keeping: Promise<unknown> = Promise.resolve();

  constructor(options: VirtualSandboxOptions) {
    super(options);
    const { identity, shell, commands, now } = options;
    const { spec, tree } = identity;
    const { trees, secrets } = options.options;
    this.#options = options;
    this.#limits = limitsOf(spec);
    this.#space = options.space ?? new Space(trees, now, shell.system, tree);
    this.#interpreter = new Interpreter({
      ...{ shell, commands, space: this.#space, limits: this.#limits },
      environment: { ...spec.env, ...secretsOf(spec, secrets) },
    });
    this.files = new VirtualFiles(this.#space, () => this.requireThere());
    this.#life = new Life(() => this.expire(), now);
    this.#life.begin(spec.ttl, [
      { type: "Ready", status: true, reason: "Opened" },
      {
        type: "Isolated",
        status: true,
        reason: "Virtual",
        message: "commands are interpreted; none runs on the host",
      },
    ]);
  }

  exec(command: string | readonly string[], options: ExecOptions = {}): Execution {
    const fault = commandFault(command, options);
    const execution = new VirtualExecution(
      fault === undefined ? options : {},
      this.#limits,
      (input, left, signal, full) => this.#interpreter.run(command, options, { input, left, signal, full }),
    );
    const obstacle = fault ?? this.#obstacle(options);
    if (obstacle !== undefined) execution.refuse(obstacle);
    else {
      this.#running.add(execution);
      void execution.run().finally(() => this.#running.delete(execution));
    }
    return execution;
  }

  async snapshot(): Promise<Snapshot> {
    this.requireThere();
    const workspace = this.#space.freeze();
    return this.#keep((keeper) => keeper.keep(workspace));
  }

  async restore(tree: Digest | null): Promise<void> {
    this.requireThere();
    // Looked for first: a tree that is not there must not take the place of files that are.
    await this.#options.options.trees.tree(tree);
    this.requireThere();
    this.#space.restore(tree);
  }

  override async fork(options: ForkOptions): Promise<Sandbox> {
    this.requireThere();
    const { create, shell } = this.#options;
    const space = this.#space.fork(shell.system);
    const workspace = space.freeze();
    // What it begins with is on record: nothing to be done unless something was changed since it was last kept.
    const tree = await this.#keep((keeper) => keeper.tree(workspace));
    return create(this.identity.spec, { ...this.forkOptions(options), tree }, space);
  }

  /** Ends what is running, and begins nothing until it is resumed. The files stay. */
  async suspend(): Promise<void> {
    this.requireThere();
    if (this.#life.phase === "suspended") return;
    this.#life.suspend();
    await this.#end("the sandbox was suspended");
  }

  async resume(): Promise<void> {
    this.requireThere();
    if (this.#life.phase === "suspended") this.#life.resume();
  }

  protected get currentStatus(): SandboxStatus {
    return this.#life.status;
  }

  protected expireAfter(milliseconds: number): void {
    this.#life.renew(milliseconds);
  }

  protected async remove(): Promise<void> {
    this.#life.finish();
    this.#options.over();
    await this.#end("the sandbox was destroyed");
    this.#space.restore(null);
  }

  /** One after the other: the second finds what the first has kept. */
  #keep<Kept>(step: (keeper: Keeper) => Promise<Kept>): Promise<Kept> {
    const { trees } = this.#options.options;
    const { exclude = [] } = this.identity.spec;
    const read = (directory: Directory) => this.#space.read(directory);
    const keeping = this.#keeping.then(() => step(new Keeper(trees, read, exclude)));
    this.#keeping = keeping.catch(() => {});
    return keeping;
  }

  /** Why a command cannot begin. */
  #obstacle(options: ExecOptions): string | undefined {
    const { phase } = this.#life;
    if (phase === "finished") return "the sandbox was destroyed";
    if (phase === "suspended") return "the sandbox is suspended: resume it first";
    if (options.pty !== undefined) return "a virtual sandbox has no terminals";
    if (options.background === true) return "a virtual sandbox has no background processes";
    if (options.directory !== undefined && !options.directory.startsWith("/"))
      return wrongPath(options.directory);
    return undefined;
  }

  async #end(why: string): Promise<void> {
    const running = [...this.#running];
    for (const execution of running) execution.stop({ outcome: "killed", why });
    await Promise.all(running.map((execution) => execution.result));
  }
}

/** Why a directory of the workspace cannot be meant, if it cannot. */
function wrongPath(path: string): string | undefined {
  try {
    namesOf(path);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
