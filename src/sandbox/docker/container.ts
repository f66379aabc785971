import type { Digest } from "../../session/index.js";
import { limitsOf, requireTime } from "../check-spec.js";
import { SandboxLostError } from "../error.js";
import type {
  ConnectOptions,
  CreateOptions,
  ExecOptions,
  Execution,
  Sandbox,
  SandboxFiles,
  Snapshot,
} from "../sandbox.js";
import type { Capabilities, SandboxRef, SandboxSpec, SandboxStatus } from "../spec.js";
import { LongTimer } from "../timer.js";
import { Archive } from "./archive.js";
import { environment } from "./body.js";
import type { Engine } from "./engine.js";
import { EngineError } from "./error.js";
import { ContainerExecution, type Fate, type Ground } from "./execution.js";
import { ContainerFiles, type Shelter } from "./files.js";
import { Gate } from "./gate.js";
import { runHelper } from "./helper.js";
import type { Filling } from "./launch.js";
import { MemoryWatch } from "./memory.js";
import { emptied } from "./refill.js";
import { removeContainer } from "./remove.js";
import { signalOf, WORKSPACE } from "./script.js";
import { Standstill } from "./standstill.js";
import { endOf, finishedOf, type Inspected, type Known, statusOf } from "./status.js";
import { readTree } from "./tree-read.js";
import type { Owner } from "./user.js";

/** What a sandbox is made of, once its container runs. */
export type Housing = {
  readonly engine: Engine;
  readonly inspected: Inspected;
  readonly owner: Owner;
  readonly about: Omit<SandboxRef, "status">;
  readonly options: ConnectOptions;
  readonly capabilities: Capabilities;
  /** Whether nothing has run in it yet. */
  readonly fresh: boolean;
  /** Puts the files of a tree into the workspace, which is empty. */
  readonly fill: (sandbox: Filling, tree: Digest | null) => Promise<void>;
  readonly create: (spec: SandboxSpec, options: CreateOptions) => Promise<Sandbox>;
  /** It is gone for good. */
  readonly gone: (sandbox: Sandbox) => void;
};

/** A sandbox that is a container. */
export class ContainerSandbox implements Sandbox, Ground, Shelter {
  readonly capabilities: Capabilities;
  readonly engine: Engine;
  readonly container: string;
  readonly gate: Gate = new Gate();
  readonly archive: Archive;
  readonly owner: Owner;
  readonly environment: readonly string[];
  readonly files: SandboxFiles;
  readonly #housing: Housing;
  readonly #standstill: Standstill;
  readonly #memory: MemoryWatch;
  readonly #executions = new Set<ContainerExecution>();
  #number = 0;
  #mending: Promise<void> | undefined;
  #status: SandboxStatus;
  #known: Known = {};
  #timer: LongTimer | undefined;
  #destroyed: Promise<void> | undefined;

  constructor(housing: Housing) {
    const { engine, inspected, owner, capabilities, options, about, fresh } = housing;
    this.#housing = housing;
    this.engine = engine;
    this.container = inspected.Id;
    this.capabilities = capabilities;
    this.archive = new Archive(engine, inspected.Id);
    this.owner = owner;
    // Secrets go to each command and not into the container's settings, which everybody with the engine's socket can read.
    this.environment = environment(options.secrets ?? {});
    this.files = new ContainerFiles(this);
    this.#memory = new MemoryWatch(engine, inspected.Id, this.#helper, fresh);
    this.#standstill = new Standstill(this, this.#helper, async () => {
      const state = await this.#look();
      return state === "unknown" ? state : (state?.Status ?? "gone");
    });
    this.#status = statusOf(inspected.State);
    if (about.spec.ttl !== undefined) this.#expireIn(about.spec.ttl);
  }

  get ref(): SandboxRef {
    const { about, inspected, engine } = this.#housing;
    const native = { container: inspected.Id, engine: engine.about.name, version: engine.about.version };
    return Object.freeze({ ...about, native, status: this.#status });
  }

  exec(command: string | readonly string[], options: ExecOptions = {}): Execution {
    this.#number += 1;
    const { about } = this.#housing;
    const id = `${about.id}/${this.#number}`;
    const execution = new ContainerExecution(this, id, command, limitsOf(about.spec), options);
    this.#executions.add(execution);
    void execution.run();
    return execution;
  }

  async snapshot(): Promise<Snapshot> {
    const { options, about } = this.#housing;
    return this.still(() =>
      readTree(this.archive.read(Buffer.from(WORKSPACE)), options.trees, about.spec.exclude),
    );
  }

  /** Everything is emptied before anything is put: what a command planted is gone, and so are links to follow. */
  async restore(tree: Digest | null): Promise<void> {
    const { fill, inspected, options } = this.#housing;
    const { archive, owner } = this;
    const emptying = {
      archive,
      trees: options.trees,
      standstill: this.#standstill,
      script: this.#helper,
    };
    await this.#here(() =>
      this.gate.alone(() => emptied(emptying, tree, () => fill({ inspected, owner, archive }, tree))),
    );
  }

  async fork({
    id,
    incarnation = 1,
  }: {
    readonly id: string;
    readonly incarnation?: number;
  }): Promise<Sandbox> {
    const { about, options, create } = this.#housing;
    const { tree } = await this.snapshot();
    const parent = { id: about.id, incarnation: about.incarnation, by: "fork" as const };
    const { signal: _signal, ...rest } = options;
    return create(about.spec, { ...rest, id, incarnation, tree, parent });
  }

  suspend(): Promise<void> {
    return this.#turn(true);
  }

  resume(): Promise<void> {
    return this.#turn(false);
  }

  async renew(milliseconds: number): Promise<void> {
    this.#requireHere();
    requireTime(milliseconds);
    if (this.#known.expired !== undefined) this.#note({ expired: { now: false, at: now() } });
    this.#expireIn(milliseconds);
  }

  async status(): Promise<SandboxStatus> {
    if (this.#destroyed === undefined) await this.#look();
    return this.#status;
  }

  destroy(): Promise<void> {
    this.#destroyed ??= this.#end();
    return this.#destroyed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.destroy();
  }

  // What its commands need.

  get isSuspended(): boolean {
    return this.#standstill.isSuspended;
  }

  async obstacle(): Promise<string | undefined> {
    await this.#mending;
    if (this.#destroyed !== undefined) return "the sandbox was destroyed";
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

  async fate(): Promise<Fate | undefined> {
    if (this.#destroyed !== undefined) return { outcome: "killed", why: "the sandbox was destroyed" };
    const state = await this.#look();
    if (state === "unknown") return { outcome: "lost", why: "the engine does not answer any more" };
    if (state?.Status === "running" || state?.Status === "paused") return undefined;
    return {
      outcome: "lost",
      why: state === undefined ? "its container is not there any more" : endOf(state),
    };
  }

  // What work on its files needs.

  still<Value>(work: () => Promise<Value>): Promise<Value> {
    return this.#here(() => this.#standstill.share(work));
  }

  async look<Value>(work: () => Promise<Value>): Promise<Value> {
    const seen = await this.#here(() => this.gate.together(work));
    // Nothing is also what is seen where no container is any more.
    const fate = seen === undefined ? await this.fate() : undefined;
    if (fate === undefined) return seen;
    throw new SandboxLostError(this.#housing.about.id, fate.why);
  }

  script(words: readonly string[]): Promise<string> {
    return this.#here(() => this.gate.alone(() => this.#standstill.awake(() => this.#helper(words))));
  }

  readonly #helper = (words: readonly string[]): Promise<string> =>
    runHelper(this.engine, this.container, words);

  /** Suspends, or resumes. */
  async #turn(isSuspended: boolean): Promise<void> {
    await this.#here(() =>
      this.gate.alone(async () => {
        const standstill = this.#standstill;
        if (standstill.isSuspended === isSuspended) return;
        await (isSuspended ? standstill.pause() : standstill.unpause());
        standstill.isSuspended = isSuspended;
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
    const fate: Fate = { outcome: "killed", why: `everything in the sandbox was ended: ${why}` };
    const doomed = [...this.#executions];
    await this.engine.json("POST", `/containers/${this.container}/restart`, { query: { t: "0" } });
    for (const execution of doomed) execution.lose(fate);
  }

  /** Does something in a container that must be there; when it is not, that is what is wrong. */
  async #here<Value>(work: () => Promise<Value>): Promise<Value> {
    await this.#mending;
    this.#requireHere();
    try {
      return await work();
    } catch (error) {
      const fate = error instanceof EngineError ? await this.fate() : undefined;
      if (fate === undefined) throw error;
      throw new SandboxLostError(this.#housing.about.id, fate.why, error);
    }
  }

  #requireHere(): void {
    if (this.#destroyed !== undefined) throw new SandboxLostError(this.#housing.about.id, "it was destroyed");
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
    if (status === "paused" && this.#standstill.isBrief) return "running";
    return status === "running" && this.#standstill.isSuspended ? "paused" : status;
  }

  #note(known: Known): void {
    this.#known = { ...this.#known, ...known };
  }

  #expireIn(milliseconds: number): void {
    this.#timer?.clear();
    const { onExpire = "delete" } = this.#housing.about.spec;
    const expire = (): void => {
      this.#note({ expired: { now: true, at: now() } });
      const done =
        onExpire === "delete" ? this.destroy() : onExpire === "suspend" ? this.suspend() : this.status();
      done.catch(() => {});
    };
    // Nobody waits for it: a program that is done must be able to end.
    this.#timer = new LongTimer(milliseconds, expire).unref();
  }

  async #end(): Promise<void> {
    this.#timer?.clear();
    for (const execution of this.#executions)
      execution.lose({ outcome: "killed", why: "the sandbox was destroyed" });
    try {
      await removeContainer(this.engine, this.container);
    } finally {
      this.#status = finishedOf(this.#known);
      this.#housing.gone(this);
    }
  }
}

function now(): string {
  return new Date().toISOString();
}
