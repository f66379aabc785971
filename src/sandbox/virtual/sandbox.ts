import type { Digest } from "../../session/index.js";
import { commandFault } from "../check-call.js";
import { limitsOf, requireTime, secretsOf } from "../check-spec.js";
import { SandboxLostError } from "../error.js";
import { namesOf } from "../path.js";
import type { CreateOptions, ExecOptions, Execution, Sandbox, SandboxFiles, Snapshot } from "../sandbox.js";
import type { Capabilities, Limits, SandboxRef, SandboxSpec, SandboxStatus } from "../spec.js";
import { VirtualExecution } from "./execution.js";
import { VirtualFiles } from "./files.js";
import { Interpreter } from "./interpreter.js";
import { Life } from "./life.js";
import type { Directory } from "./node.js";
import type { Shell, VirtualCommand } from "./shell.js";
import { Keeper } from "./snapshot.js";
import { Space } from "./space.js";

export type Opening = {
  readonly spec: SandboxSpec;
  readonly options: CreateOptions;
  readonly capabilities: Capabilities;
  readonly shell: Shell;
  readonly commands: readonly VirtualCommand[];
  readonly now: () => number;
  /** What a fork begins with, instead of the tree. */
  readonly space?: Space;
  /** Makes another one of the same kind known. */
  readonly fork: (opening: Opening) => Promise<VirtualSandbox>;
  readonly over: (sandbox: VirtualSandbox) => void;
};

/** A sandbox without an operating system: a shell that is interpreted, over files that are in memory. */
export class VirtualSandbox implements Sandbox {
  readonly files: SandboxFiles;
  readonly #opening: Opening;
  readonly #limits: Required<Limits>;
  readonly #interpreter: Interpreter;
  readonly #space: Space;
  readonly #running = new Set<VirtualExecution>();
  readonly #life: Life;
  #keeping: Promise<unknown> = Promise.resolve();

  constructor(opening: Opening) {
    const { spec, options, shell, now } = opening;
    this.#opening = opening;
    this.#limits = limitsOf(spec);
    this.#space = opening.space ?? new Space(options.trees, now, shell.system, options.tree);
    this.#interpreter = new Interpreter({
      ...{ shell, commands: opening.commands, space: this.#space, limits: this.#limits },
      environment: { ...spec.env, ...secretsOf(spec, options.secrets) },
    });
    this.files = new VirtualFiles(this.#space, () => this.#check());
    const { ttl, onExpire = "delete" } = spec;
    this.#life = new Life(now, ttl, () => {
      if (onExpire === "suspend") void this.suspend();
      else if (onExpire === "delete") void this.destroy();
    });
  }

  get capabilities(): Capabilities {
    return this.#opening.capabilities;
  }

  get ref(): SandboxRef {
    const { spec, options } = this.#opening;
    const { id, incarnation, tree, parent } = options;
    const { status } = this.#life;
    return Object.freeze({
      provider: "virtual",
      id,
      incarnation,
      spec,
      status,
      tree,
      ...(parent !== undefined && { parent }),
    });
  }

  exec(command: string | readonly string[], options: ExecOptions = {}): Execution {
    const fault = commandFault(command, options);
    const execution = new VirtualExecution(fault === undefined ? options : {}, this.#limits);
    const obstacle = fault ?? this.#obstacle(options);
    if (obstacle !== undefined) execution.refuse(obstacle);
    else {
      this.#running.add(execution);
      void execution
        .run(
          (input, left, signal, full) =>
            this.#interpreter.run(command, options, { input, left, signal, full }),
          options.wall ?? this.#limits.wall,
        )
        .finally(() => this.#running.delete(execution));
    }
    return execution;
  }

  async snapshot(): Promise<Snapshot> {
    this.#check();
    const workspace = this.#space.freeze();
    return this.#keep((keeper) => keeper.keep(workspace));
  }

  async restore(tree: Digest | null): Promise<void> {
    this.#check();
    // Looked for first: a tree that is not there must not take the place of files that are.
    await this.#opening.options.trees.tree(tree);
    this.#check();
    this.#space.restore(tree);
  }

  async fork({
    id,
    incarnation = 1,
  }: {
    readonly id: string;
    readonly incarnation?: number;
  }): Promise<Sandbox> {
    this.#check();
    const { options, shell } = this.#opening;
    const { signal: _signal, ...rest } = options;
    const parent = { id: options.id, incarnation: options.incarnation, by: "fork" as const };
    const space = this.#space.fork(shell.system);
    const workspace = space.freeze();
    // What it begins with is on record: nothing to be done unless something was changed since it was last kept.
    const tree = await this.#keep((keeper) => keeper.tree(workspace));
    return this.#opening.fork({
      ...this.#opening,
      options: { ...rest, id, incarnation, parent, tree },
      space,
    });
  }

  /** Ends what is running, and begins nothing until it is resumed. The files stay. */
  async suspend(): Promise<void> {
    this.#check();
    if (this.#life.phase === "suspended") return;
    this.#life.suspend();
    await this.#end("the sandbox was suspended");
  }

  async resume(): Promise<void> {
    this.#check();
    if (this.#life.phase === "suspended") this.#life.resume();
  }

  async renew(milliseconds: number): Promise<void> {
    this.#check();
    requireTime(milliseconds);
    this.#life.renew(milliseconds);
  }

  async status(): Promise<SandboxStatus> {
    return this.#life.status;
  }

  async destroy(): Promise<void> {
    if (this.#life.phase === "finished") return;
    this.#life.finish();
    this.#opening.over(this);
    await this.#end("the sandbox was destroyed");
    this.#space.restore(null);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.destroy();
  }

  /** One after the other: the second finds what the first has kept. */
  #keep<Kept>(step: (keeper: Keeper) => Promise<Kept>): Promise<Kept> {
    const { spec, options } = this.#opening;
    const read = (directory: Directory) => this.#space.read(directory);
    const keeping = this.#keeping.then(() => step(new Keeper(options.trees, read, spec.exclude ?? [])));
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

  #check(): void {
    if (this.#life.phase === "finished")
      throw new SandboxLostError(this.#opening.options.id, "it was destroyed");
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
