import { setTimeout as wait } from "node:timers/promises";
import type { Digest } from "../../session/index.js";
import { requireTime } from "../check-spec.js";
import { SandboxLostError } from "../error.js";
import { gated } from "../host/files.js";
import type { CreateOptions, ExecOptions, Execution, Sandbox, SandboxFiles, Snapshot } from "../sandbox.js";
import type { Capabilities, SandboxRef, SandboxSpec, SandboxStatus } from "../spec.js";
import type { Cgroup } from "./cgroup.js";
import type { Commands } from "./commands.js";
import { Life } from "./life.js";
import { areStopped } from "./processes.js";
import type { Supervisor } from "./supervisor.js";
import type { Workspace } from "./workspace.js";

export type Opening = {
  readonly spec: SandboxSpec;
  readonly options: CreateOptions;
  readonly capabilities: Capabilities;
  readonly workspace: Workspace;
  readonly commands: Commands;
  readonly group: Cgroup | undefined;
  /** Another sandbox of the same kind. */
  readonly create: (spec: SandboxSpec, options: CreateOptions) => Promise<Sandbox>;
  /** Gives back everything that it has on the host when its processes are gone: directories, control groups. */
  readonly clean: () => Promise<void>;
};

/** How long it may take until everything stands still; what is in the kernel cannot be stopped. */
const STOP_MILLISECONDS = 2_000;

/** A sandbox that bubblewrap holds. */
export class LocalSandbox implements Sandbox {
  readonly capabilities: Capabilities;
  readonly #opening: Opening;
  readonly #life: Life;
  #supervisor: Supervisor | undefined;
  #files: SandboxFiles | undefined;
  #destroyed: Promise<void> | undefined;
  /** Until everything stands still. */
  #stopping: Promise<void> = Promise.resolve();

  constructor(opening: Opening) {
    this.#opening = opening;
    this.capabilities = opening.capabilities;
    const { ttl, onExpire = "delete" } = opening.spec;
    this.#life = new Life(ttl, async () => {
      if (onExpire === "suspend") await this.suspend();
      else if (onExpire === "delete") await this.destroy();
    });
  }

  /** Says who supervises it; it is running from here on. */
  attach(supervisor: Supervisor): void {
    this.#supervisor = supervisor;
    this.#opening.commands.attach(supervisor);
    this.#opening.workspace.attach(supervisor.process);
    this.#files = gated(this.#opening.workspace.files, () => this.#requireThere());
    this.#life.begin();
  }

  get ref(): SandboxRef {
    const { spec, options } = this.#opening;
    const { process, namespaces } = this.#supervisor ?? { process: 0, namespaces: {} };
    return Object.freeze({
      provider: "local",
      id: options.id,
      incarnation: options.incarnation,
      native: { process, namespaces },
      spec,
      status: this.#life.status,
      tree: options.tree,
      ...(options.parent !== undefined && { parent: options.parent }),
    });
  }

  get files(): SandboxFiles {
    if (this.#files === undefined) throw new SandboxLostError(this.#opening.options.id, "it has not begun");
    return this.#files;
  }

  exec(command: string | readonly string[], options: ExecOptions = {}): Execution {
    return this.#opening.commands.exec(command, options, this.#obstacle());
  }

  async snapshot(): Promise<Snapshot> {
    this.#requireThere();
    return this.#opening.workspace.snapshot();
  }

  async restore(tree: Digest | null): Promise<void> {
    this.#requireThere();
    await this.#opening.workspace.restore(tree);
  }

  async fork({
    id,
    incarnation = 1,
  }: {
    readonly id: string;
    readonly incarnation?: number;
  }): Promise<Sandbox> {
    const { spec, options } = this.#opening;
    const { tree } = await this.snapshot();
    const parent = { id: options.id, incarnation: options.incarnation, by: "fork" as const };
    const { signal: _signal, ...rest } = options;
    return this.#opening.create(spec, { ...rest, id, incarnation, tree, parent });
  }

  async suspend(): Promise<void> {
    if (this.#life.phase !== "running") return;
    const { group, commands } = this.#opening;
    this.#life.suspend();
    commands.suspend();
    const supervisor = this.#supervisor;
    if (group !== undefined) this.#stopping = group.freeze();
    else if (supervisor !== undefined) this.#stopping = this.#stop(supervisor);
    await this.#stopping;
  }

  async resume(): Promise<void> {
    if (this.#life.phase !== "suspended") return;
    const { group, commands } = this.#opening;
    await this.#stopping;
    if (group !== undefined) await group.thaw();
    else this.#supervisor?.tell("kill -CONT -1 2>/dev/null");
    // It may have ended meanwhile.
    if (this.#life.phase !== "suspended") return;
    this.#life.resume();
    commands.resume();
  }

  /**
   * Has everything stand still but process 1, which cannot be stopped and has nothing to do until it is told to go on. A
   * process that is being forked may hear of it late, and then it would not hear that it shall go on: unlike SIGSTOP,
   * SIGCONT is not kept for those who are not there yet. So it is over when all of them have stopped.
   */
  async #stop(supervisor: Supervisor): Promise<void> {
    const until = performance.now() + STOP_MILLISECONDS;
    do {
      supervisor.tell("kill -STOP -1 2>/dev/null");
      await wait(1);
    } while (!areStopped(supervisor.process) && performance.now() < until);
  }

  async renew(milliseconds: number): Promise<void> {
    this.#requireThere();
    requireTime(milliseconds);
    this.#life.renew(milliseconds);
  }

  async status(): Promise<SandboxStatus> {
    return this.#life.status;
  }

  destroy(): Promise<void> {
    this.#destroyed ??= this.#end();
    return this.#destroyed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.destroy();
  }

  /** Takes notice that the supervisor is gone. */
  readonly lose = (why: string): void => {
    if (this.#destroyed !== undefined) return;
    this.#life.lose(why);
    this.#opening.commands.lose("lost", why);
  };

  async #end(): Promise<void> {
    const { group, commands, clean } = this.#opening;
    const suspended = this.#life.phase === "suspended";
    this.#life.finish();
    // What is frozen does not die.
    const ending = this.#supervisor?.end("it was destroyed");
    if (suspended) await group?.thaw().catch(() => {});
    await ending;
    commands.lose("killed", "the sandbox was destroyed");
    await clean();
  }

  #requireThere(): void {
    if (this.#destroyed !== undefined)
      throw new SandboxLostError(this.#opening.options.id, "it was destroyed");
  }

  /** Why no command can begin. */
  #obstacle(): string | undefined {
    if (this.#destroyed !== undefined) return "the sandbox was destroyed";
    if (this.#life.phase === "lost") return "the sandbox is lost";
    if (this.#life.phase === "suspended") return "the sandbox is suspended: resume it first";
    return undefined;
  }
}
