import { AsyncResource } from "node:async_hooks";
import { randomUUID } from "node:crypto";
import type { Digest } from "../../session/index.js";
import { defined } from "../../util/index.js";
import { commandFault } from "../check.js";
import { checkSpec, limitsOf, secretsOf } from "../check-spec.js";
import { CommandExecution, killedBy, lateAfter, type Signal } from "../execution.js";
import { Lazy } from "../lazy.js";
import { identityOf, OpeningProvider, OpenSandbox, type OpenSandboxOptions } from "../open-sandbox.js";
import { namesOf } from "../path.js";
import type {
  CreateOptions,
  ExecOptions,
  Execution,
  ForkOptions,
  Sandbox,
  SandboxFiles,
  SandboxProvider,
  Snapshot,
} from "../sandbox.js";
import type { Capabilities, Limits, SandboxSpec } from "../spec.js";
import { Turns } from "../workspace/directory.js";
import { VirtualFiles } from "./files.js";
import type { Circumstances, Shell, Surroundings, VirtualCommand } from "./shell.js";
import { interpret, loadShell, remove } from "./shell.js";
import { Keeper } from "./snapshot.js";
import { type Directory, Space } from "./space.js";

export type VirtualOptions = {
  /** Commands beside those that the shell has, made with just-bash's `defineCommand`. They run in this process. */
  readonly commands?: readonly VirtualCommand[];
  /** The clock of the files, in milliseconds; default `Date.now`. */
  readonly now?: () => number;
};

/** Sandboxes without an operating system (just-bash, files in memory), for tests, docs and Windows. */
export function virtualSandbox(options: VirtualOptions = {}): SandboxProvider {
  return new VirtualProvider(options);
}

class VirtualProvider extends OpeningProvider<VirtualSandbox> {
  readonly name = "virtual";
  protected override readonly missing =
    "a virtual sandbox is gone with the process that opened it, or was destroyed";
  readonly #commands: readonly VirtualCommand[];
  readonly #now: () => number;
  readonly #shell = new Lazy(() => loadShell(this.#commands));

  constructor({ commands = [], now = Date.now }: VirtualOptions) {
    super();
    this.#commands = [remove, ...commands];
    this.#now = now;
  }

  async capabilities(): Promise<Capabilities> {
    const { version } = await this.#shell.get();
    return capabilitiesOf(version);
  }

  /** @param space the files, instead of those of the tree */
  create(given: SandboxSpec, options: CreateOptions, space?: Space): Promise<Sandbox> {
    return this.open(options, async (over) => {
      const shell = await this.#shell.get();
      const capabilities = capabilitiesOf(shell.version);
      const spec = checkSpec(given, this.name, capabilities);
      options.signal?.throwIfAborted();
      return new VirtualSandbox({
        ...{ identity: identityOf(this.name, spec, options), options, capabilities },
        ...{ shell, commands: this.#commands, now: this.#now, over, ...defined({ space }) },
        create: (next, others, files) => this.create(next, others, files),
      });
    });
  }
}

function capabilitiesOf(version: string | undefined): Capabilities {
  return Object.freeze({
    isolation: "virtual",
    limits: Object.freeze(["wall", "file", "disk", "output", "scratch"] as const),
    network: Object.freeze(["none"] as const),
    fork: "cow",
    suspend: "stop",
    exact: false,
    stdin: true,
    background: false,
    pty: false,
    names: "text",
    detail: Object.freeze({
      shell: "just-bash",
      ...defined({ version }),
      // Output comes when the command ends, and not at all where it is ended before; input is taken when it is whole.
      streaming: false,
      partial: false,
    }),
  });
}

type VirtualSandboxOptions = Omit<OpenSandboxOptions, "create"> & {
  readonly shell: Shell;
  readonly commands: readonly VirtualCommand[];
  readonly now: () => number;
  /** The files of a fork, instead of the tree. */
  readonly space?: Space;
  /** Opens another one of the same kind; with a space, with its files. */
  readonly create: (spec: SandboxSpec, options: CreateOptions, space?: Space) => Promise<Sandbox>;
  /** Called when it is destroyed. */
  readonly over: () => void;
};

/** A sandbox without an operating system: a shell that is interpreted, over files that are in memory. */
class VirtualSandbox extends OpenSandbox {
  readonly files: SandboxFiles;
  readonly #options: VirtualSandboxOptions;
  readonly #limits: Required<Limits>;
  readonly #surroundings: Surroundings;
  readonly #space: Space;
  readonly #running = new Set<VirtualExecution>();
  readonly #turns = new Turns();

  constructor(options: VirtualSandboxOptions) {
    super(options);
    const { identity, shell, commands, now } = options;
    const { spec, tree } = identity;
    const { trees, secrets } = options.options;
    this.#options = options;
    this.#limits = limitsOf(spec);
    this.#space = options.space ?? new Space(trees, now, shell.system, tree);
    this.#surroundings = {
      ...{ shell, commands, space: this.#space, limits: this.#limits, scratch: { used: 0 } },
      environment: { ...spec.env, ...secretsOf(spec, secrets) },
    };
    this.files = new VirtualFiles(this.#space, () => this.requireThere());
    this.life.begin(spec.ttl, [
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
    const given = fault === undefined ? options : {};
    const execution = new VirtualExecution(given, this.#limits, (circumstances) =>
      interpret(this.#surroundings, command, options, circumstances),
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
    // The record names its tree: this writes nothing unless something changed since the last time.
    const tree = await this.#keep((keeper) => keeper.tree(workspace));
    return create(this.identity.spec, { ...this.forkOptions(options), tree }, space);
  }

  /** Ends what is running, and begins nothing until it is resumed. The files stay. */
  async suspend(): Promise<void> {
    this.requireThere();
    if (this.life.phase === "suspended") return;
    this.life.suspend();
    await this.#end("the sandbox was suspended");
  }

  async resume(): Promise<void> {
    this.requireThere();
    if (this.life.phase === "suspended") this.life.resume();
  }

  protected async remove(): Promise<void> {
    this.life.finish();
    this.#options.over();
    await this.#end("the sandbox was destroyed");
    this.#space.restore(null);
  }

  /** One after the other: the second finds what the first has kept. */
  #keep<Kept>(step: (keeper: Keeper) => Promise<Kept>): Promise<Kept> {
    const { trees } = this.#options.options;
    const { exclude = [] } = this.identity.spec;
    const read = (directory: Directory) => this.#space.read(directory);
    return this.#turns.take(() => step(new Keeper(trees, read, exclude)));
  }

  /** Why a command cannot begin. */
  #obstacle(options: ExecOptions): string | undefined {
    if (this.obstacle !== undefined) return this.obstacle;
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

export type ShellResult = {
  readonly stdout: Uint8Array;
  readonly stderr: Uint8Array;
  readonly code: number;
  /** Whether its time was over when it ended. */
  readonly isLate: boolean;
};

/** Runs a command, until its signal aborts. */
type Runner = (circumstances: Circumstances) => Promise<ShellResult | { readonly unstarted: string }>;

/** How long the shell may take to stop. It stops between two commands, and the longest single one is short. */
const STOP_MILLISECONDS = 2_000;

/** A command in a virtual sandbox. It begins when its input ends: the shell takes it all at once. */
export class VirtualExecution extends CommandExecution {
  readonly #runner: Runner;
  readonly #milliseconds: number;
  readonly #until: number;
  readonly #aborter = new AbortController();
  #stopped: () => void = () => {};

  constructor(options: ExecOptions, limits: Required<Limits>, runner: Runner) {
    super(randomUUID(), options, limits);
    this.#runner = runner;
    this.#milliseconds = options.wall ?? limits.wall;
    this.#until = performance.now() + this.#milliseconds;
  }

  async kill(signal: Signal = "SIGKILL"): Promise<void> {
    this.stop({ ...killedBy(signal), signal });
    await this.result;
  }

  protected override terminate(): void {
    this.#stopped();
    this.#aborter.abort();
  }

  protected async begin(): Promise<void> {
    this.wall?.start();
    const input = await this.#input();
    if (this.reason !== undefined) return this.finish({ code: null, ...this.reason });
    this.collector.start();
    // Called from within the shell, which forbids commands to set a timer.
    const full = AsyncResource.bind(() =>
      this.stop({ outcome: "disk", why: "it made the workspace grow by more than its limit" }),
    );
    const left = this.#until - performance.now();
    const { signal } = this.#aborter;
    const ran = await this.#inTime(this.#runner({ input, left, signal, full }));
    if (ran !== undefined && "unstarted" in ran) return this.refuse(ran.unstarted);
    if (ran !== undefined) {
      this.take("stdout", ran.stdout);
      this.take("stderr", ran.stderr);
    }
    // It gave the timer no turn, and ended because the shell looked at the clock.
    if (ran?.isLate === true) this.reason ??= lateAfter(this.#milliseconds);
    if (this.reason !== undefined) this.finish({ code: null, ...this.reason });
    else if (ran !== undefined) this.finish({ code: ran.code, outcome: ran.code === 0 ? "ok" : "error" });
  }

  protected override failed(error: unknown): void {
    this.take("stderr", Buffer.from(`${error instanceof Error ? error.message : String(error)}\n`));
    this.finish({ code: null, outcome: "error", why: "the shell failed", ...this.reason });
  }

  protected released(): void {}

  /** All of its input, or what there is of it when the command is ended before. */
  async #input(): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    await new Promise<void>((resolve) => {
      this.#stopped = resolve;
      this.connectInput({ write: async (bytes) => void parts.push(bytes), end: resolve });
    });
    return Buffer.concat(parts);
  }

  /** The shell's result; undefined if the shell does not stop although it should. */
  async #inTime<Result>(running: Promise<Result>): Promise<Result | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      const expire = () => {
        timer = setTimeout(() => resolve(undefined), STOP_MILLISECONDS);
      };
      this.#aborter.signal.addEventListener("abort", expire, { once: true });
    });
    try {
      return await Promise.race([running, late]);
    } finally {
      clearTimeout(timer);
    }
  }
}
