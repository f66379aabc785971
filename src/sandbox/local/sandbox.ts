import { setTimeout as wait } from "node:timers/promises";
import type { Digest } from "../../session/index.js";
import { SandboxLostError } from "../error.js";
import { gated } from "../gated-files.js";
import { Life } from "../life.js";
import { OpenSandbox, type OpenSandboxOptions } from "../open-sandbox.js";
import type { ExecOptions, Execution, SandboxFiles, Snapshot } from "../sandbox.js";
import type { SandboxRef, SandboxStatus } from "../spec.js";
import type { Cgroup } from "./cgroup.js";
import type { Commands } from "./commands.js";
import { areStopped } from "./processes.js";
import type { Supervisor } from "./supervisor.js";
import type { Workspace } from "./workspace.js";

export type LocalSandboxOptions = OpenSandboxOptions & {
  readonly workspace: Workspace;
  readonly commands: Commands;
  readonly group: Cgroup | undefined;
  /** Gives back everything that it has on the host when its processes are gone: directories, control groups. */
  readonly clean: () => Promise<void>;
};

/** How long it may take until everything stands still; what is in the kernel cannot be stopped. */
const STOP_MILLISECONDS = 2_000;

/** A sandbox that bubblewrap holds. */
export class LocalSandbox extends OpenSandbox {
  readonly #options: LocalSandboxOptions;
  readonly #life: Life;
  #supervisor: Supervisor | undefined;
  #files: SandboxFiles | undefined;
  /** Until everything stands still. */
  #stopping: Promise<void> = Promise.resolve();

  constructor(options: LocalSandboxOptions) {
    super(options);
    this.#options = options;
    this.#life = new Life(() => this.expire());
  }

  /** Says who supervises it; it is running from here on. */
  attach(supervisor: Supervisor): void {
    this.#supervisor = supervisor;
    this.#options.commands.attach(supervisor);
    this.#options.workspace.attach(supervisor.process);
    this.#files = gated(this.#options.workspace.files, () => this.requireThere());
    this.#life.begin(this.identity.spec.ttl, [
      { type: "Isolated", status: true, reason: "Namespaces", message: "it has namespaces of its own" },
      { type: "Ready", status: true, reason: "Started" },
    ]);
  }

  get files(): SandboxFiles {
    if (this.#files === undefined) throw new SandboxLostError(this.identity.id, "it has not begun");
    return this.#files;
  }

  exec(command: string | readonly string[], options: ExecOptions = {}): Execution {
    return this.#options.commands.exec(command, options, this.#obstacle());
  }

  async snapshot(): Promise<Snapshot> {
    this.requireThere();
    return this.#options.workspace.snapshot();
  }

  async restore(tree: Digest | null): Promise<void> {
    this.requireThere();
    await this.#options.workspace.restore(tree);
  }

  async suspend(): Promise<void> {
    if (this.#life.phase !== "running") return;
    const { group, commands } = this.#options;
    this.#life.suspend();
    commands.suspend();
    const supervisor = this.#supervisor;
    if (group !== undefined) this.#stopping = group.freeze();
    else if (supervisor !== undefined) this.#stopping = this.#stop(supervisor);
    await this.#stopping;
  }

  async resume(): Promise<void> {
    if (this.#life.phase !== "suspended") return;
    const { group, commands } = this.#options;
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
   * process that is being forked may hear of it late, and then it would not hear that it should go on: unlike SIGSTOP,
   * SIGCONT is not kept for those who are not there yet. So it is over when all of them have stopped.
   */
  async #stop(supervisor: Supervisor): Promise<void> {
    const until = performance.now() + STOP_MILLISECONDS;
    do {
      supervisor.tell("kill -STOP -1 2>/dev/null");
      await wait(1);
    } while (!areStopped(supervisor.process) && performance.now() < until);
  }

  /** Takes notice that the supervisor is gone. */
  readonly lose = (why: string): void => {
    if (this.isDestroyed) return;
    this.#life.lose(why);
    this.#options.commands.lose("lost", why);
  };

  protected override get native(): SandboxRef["native"] {
    const { process, namespaces } = this.#supervisor ?? { process: 0, namespaces: {} };
    return { process, namespaces };
  }

  protected get currentStatus(): SandboxStatus {
    return this.#life.status;
  }

  protected expireAfter(milliseconds: number): void {
    this.#life.renew(milliseconds);
  }

  protected async remove(): Promise<void> {
    const { group, commands, clean } = this.#options;
    const suspended = this.#life.phase === "suspended";
    this.#life.finish();
    // Frozen processes do not die.
    const ending = this.#supervisor?.end("it was destroyed");
    if (suspended) await group?.thaw().catch(() => {});
    await ending;
    commands.lose("killed", "the sandbox was destroyed");
    await clean();
  }

  /** Why no command can begin. */
  #obstacle(): string | undefined {
    if (this.isDestroyed) return "the sandbox was destroyed";
    if (this.#life.phase === "lost") return "the sandbox is lost";
    if (this.#life.phase === "suspended") return "the sandbox is suspended: resume it first";
    return undefined;
  }
}
