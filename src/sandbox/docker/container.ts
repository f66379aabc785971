import type { Digest } from "../../session/index.js";
import { limitsOf } from "../check-spec.js";
import { SandboxLostError } from "../error.js";
import { OpenSandbox, type OpenSandboxOptions } from "../open-sandbox.js";
import type { ExecOptions, Execution, SandboxFiles, Snapshot } from "../sandbox.js";
import type { SandboxRef, SandboxStatus } from "../spec.js";
import { LongTimer } from "../timer.js";
import { Archive } from "./archive.js";
import { environment } from "./body.js";
import type { Engine } from "./engine.js";
import { EngineError } from "./error.js";
import { ContainerExecution, type ExecutionHost, type Loss } from "./execution.js";
import { ContainerFiles, type FileHost } from "./files.js";
import { Freezer, Gate } from "./freeze.js";
import { runHelper } from "./helper.js";
import type { Filling } from "./launch.js";
import { MemoryWatch } from "./memory.js";
import { emptied } from "./refill.js";
import { removeContainer } from "./retry.js";
import { signalOf, WORKSPACE } from "./script.js";
import { endOf, finishedOf, type Inspected, type Known, statusOf } from "./status.js";
import { readTree } from "./tree-read.js";
import type { Owner } from "./user.js";

/** What a sandbox is made of, once its container runs. */
export type ContainerOptions = OpenSandboxOptions & {
  readonly engine: Engine;
  readonly inspected: Inspected;
  readonly owner: Owner;
  /** Whether nothing has run in it yet. */
  readonly fresh: boolean;
  /** Puts the files of a tree into the workspace, which is empty. */
  readonly fill: (sandbox: Filling, tree: Digest | null) => Promise<void>;
  /** Called when it is gone for good. */
  readonly gone: () => void;
};

/** A sandbox that is a container. */
export class ContainerSandbox extends OpenSandbox implements ExecutionHost, FileHost {
  readonly engine: Engine;
  readonly container: string;
  readonly gate: Gate = new Gate();
  readonly archive: Archive;
  readonly owner: Owner;
  readonly environment: readonly string[];
  readonly files: SandboxFiles;
  readonly #options: ContainerOptions;
  readonly #freezer: Freezer;
  readonly #memory: MemoryWatch;
  readonly #executions = new Set<ContainerExecution>();
  #number = 0;
  #mending: Promise<void> | undefined;
  #status: SandboxStatus;
  #known: Known = {};
  #timer: LongTimer | undefined;

  constructor(options: ContainerOptions) {
    super(options);
    const { engine, inspected, owner, fresh } = options;
    this.#options = options;
    this.engine = engine;
    this.container = inspected.Id;
    this.archive = new Archive(engine, inspected.Id);
    this.owner = owner;
    // Secrets go to each command and not into the container's settings, which everybody with the engine's socket can read.
    this.environment = environment(options.options.secrets ?? {});
    this.files = new ContainerFiles(this);
    this.#memory = new MemoryWatch(engine, inspected.Id, this.#helper, fresh);
    this.#freezer = new Freezer(this, this.#helper, async () => {
      const state = await this.#look();
      return state === "unknown" ? state : (state?.Status ?? "gone");
    });
    this.#status = statusOf(inspected.State);
    const { ttl } = this.identity.spec;
    if (ttl !== undefined) this.expireAfter(ttl);
  }

  exec(command: string | readonly string[], options: ExecOptions = {}): Execution {
    this.#number += 1;
    const id = `${this.identity.id}/${this.#number}`;
    const execution = new ContainerExecution(this, id, command, limitsOf(this.identity.spec), options);
    this.#executions.add(execution);
    void execution.run();
    return execution;
  }

  async snapshot(): Promise<Snapshot> {
    const { trees } = this.#options.options;
    return this.still(() =>
      readTree(this.archive.read(Buffer.from(WORKSPACE)), trees, this.identity.spec.exclude),
    );
  }

  /** Everything is emptied before anything is put: what a command planted is gone, and so are links to follow. */
  async restore(tree: Digest | null): Promise<void> {
    const { fill, inspected, options } = this.#options;
    const { archive, owner } = this;
    const emptying = { archive, trees: options.trees, freezer: this.#freezer, script: this.#helper };
    await this.#here(() =>
      this.gate.alone(() => emptied(emptying, tree, () => fill({ inspected, owner, archive }, tree))),
    );
  }

  suspend(): Promise<void> {
    return this.#turn(true);
  }

  resume(): Promise<void> {
    return this.#turn(false);
  }

  override async status(): Promise<SandboxStatus> {
    if (!this.isDestroyed) await this.#look();
    return this.#status;
  }

  // What its commands need.

  get isSuspended(): boolean {
    return this.#freezer.isSuspended;
  }

  async obstacle(): Promise<string | undefined> {
    await this.#mending;
    if (this.isDestroyed) return "the sandbox was destroyed";
    return this.isSuspended ? "the sandbox is suspended: resume it first" : undefined;
  }

  over(execution: ContainerExecution): void {
    this.#executions.delete(execution);
  }

  async signal(session: number, signal: string): Promise<boolean> {
    return (await this.gate.together(() => this.#helper(signalOf(session, signal)))) === "ok";
  }

  abandon(why: string): Promise<void> {
    this.#mending ??= this.#restart(why).finally(() => {
      this.#mending = undefined;
    });
    return this.#mending;
  }

  outOfMemory(since: number, code: number): Promise<boolean> {
    return this.#memory.ranOut(since, code);
  }

  async loss(): Promise<Loss | undefined> {
    if (this.isDestroyed) return { outcome: "killed", why: "the sandbox was destroyed" };
    const state = await this.#look();
    if (state === "unknown") return { outcome: "lost", why: "the engine does not answer" };
    if (state?.Status === "running" || state?.Status === "paused") return undefined;
    return {
      outcome: "lost",
      why: state === undefined ? "its container is gone" : endOf(state),
    };
  }

  // What work on its files needs.

  still<Value>(work: () => Promise<Value>): Promise<Value> {
    return this.#here(() => this.#freezer.share(work));
  }

  async look<Value>(work: () => Promise<Value>): Promise<Value> {
    const seen = await this.#here(() => this.gate.together(work));
    // Nothing is also what is seen where no container is.
    const loss = seen === undefined ? await this.loss() : undefined;
    if (loss === undefined) return seen;
    throw new SandboxLostError(this.identity.id, loss.why);
  }

  script(words: readonly string[]): Promise<string> {
    return this.#here(() => this.gate.alone(() => this.#freezer.whileRunning(() => this.#helper(words))));
  }

  readonly #helper = (words: readonly string[]): Promise<string> =>
    runHelper(this.engine, this.container, words);

  /** Suspends, or resumes. */
  async #turn(isSuspended: boolean): Promise<void> {
    await this.#here(() =>
      this.gate.alone(async () => {
        const freezer = this.#freezer;
        if (freezer.isSuspended === isSuspended) return;
        await (isSuspended ? freezer.pause() : freezer.unpause());
        freezer.isSuspended = isSuspended;
        this.#note({ paused: { now: isSuspended, at: now() } });
        for (const execution of this.#executions)
          if (isSuspended) execution.suspend();
          else execution.resume();
        await this.#look();
      }),
    );
  }

  /** Ends everything in the container. Its files stay. The others in it end too, and must know why. */
  async #restart(why: string): Promise<void> {
    const loss: Loss = { outcome: "killed", why: `everything in the sandbox was ended: ${why}` };
    const doomed = [...this.#executions];
    await this.engine.json("POST", `/containers/${this.container}/restart`, { query: { t: "0" } });
    for (const execution of doomed) execution.lose(loss);
  }

  /** Does something in a container that must be there; when it is not, that is what is wrong. */
  async #here<Value>(work: () => Promise<Value>): Promise<Value> {
    await this.#mending;
    this.requireThere();
    try {
      return await work();
    } catch (error) {
      const loss = error instanceof EngineError ? await this.loss() : undefined;
      if (loss === undefined) throw error;
      throw new SandboxLostError(this.identity.id, loss.why, error);
    }
  }

  /** Asks the engine how the container is; undefined when it is not there. */
  async #look(): Promise<Inspected["State"] | undefined | "unknown"> {
    try {
      const { State } = await this.engine.json<Inspected>("GET", `/containers/${this.container}/json`);
      this.#status = statusOf({ ...State, Status: this.#seen(State.Status) }, this.#known);
      return State;
    } catch (error) {
      if (!(error instanceof EngineError) || error.status !== 404) return "unknown";
      this.#status = statusOf(undefined, this.#known);
      return undefined;
    }
  }

  /** A container is not suspended because it stands still for a moment, and it is when its processes were stopped. */
  #seen(status: string): string {
    if (status === "paused" && this.#freezer.isBrief) return "running";
    return status === "running" && this.#freezer.isSuspended ? "paused" : status;
  }

  #note(known: Known): void {
    this.#known = { ...this.#known, ...known };
  }

  protected override get native(): SandboxRef["native"] {
    const { container, engine } = this;
    return { container, engine: engine.about.name, version: engine.about.version };
  }

  protected get currentStatus(): SandboxStatus {
    return this.#status;
  }

  protected expireAfter(milliseconds: number): void {
    this.#timer?.clear();
    if (this.#known.expired !== undefined) this.#note({ expired: { now: false, at: now() } });
    const expire = async (): Promise<void> => {
      this.#note({ expired: { now: true, at: now() } });
      await this.expire();
      if (this.identity.spec.onExpire === "retain") await this.status();
    };
    // Nothing waits for it: a program that is done must be able to end.
    this.#timer = new LongTimer(milliseconds, () => void expire().catch(() => {})).unref();
  }

  protected async remove(): Promise<void> {
    this.#timer?.clear();
    for (const execution of this.#executions)
      execution.lose({ outcome: "killed", why: "the sandbox was destroyed" });
    try {
      await removeContainer(this.engine, this.container);
    } finally {
      this.#status = finishedOf(this.#known);
      this.#options.gone();
    }
  }
}

function now(): string {
  return new Date().toISOString();
}
