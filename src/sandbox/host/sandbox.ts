import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Digest } from "../../session/index.js";
import { commandFault } from "../check-call.js";
import { limitsOf } from "../check-spec.js";
import { gated } from "../gated-files.js";
import { Life } from "../life.js";
import type { Box } from "../local/registry.js";
import type { Workspace } from "../local/workspace.js";
import { OpenSandbox, type OpenSandboxOptions } from "../open-sandbox.js";
import { namesOf } from "../path.js";
import type { ExecOptions, Execution, SandboxFiles, Snapshot } from "../sandbox.js";
import type { SandboxRef, SandboxStatus } from "../spec.js";
import type { Environment } from "./environment.js";
import { HostExecution } from "./execution.js";
import { endBox, signalBox } from "./processes.js";

/** What the workspace is called in paths that begin at the root, as in every other kind of sandbox. */
const WORKSPACE = "/workspace";

export type HostSandboxOptions = OpenSandboxOptions & {
  readonly workspace: Workspace;
  readonly environment: Environment;
  readonly box: Box;
  /** Removes everything of it that is on disk. */
  readonly clean: () => Promise<void>;
};

/** A folder of the host in which commands run as the user who runs us. Nothing keeps them in it. */
export class HostSandbox extends OpenSandbox {
  readonly files: SandboxFiles;
  readonly #options: HostSandboxOptions;
  readonly #life: Life;
  readonly #running = new Set<HostExecution>();
  #number = 0;

  constructor(options: HostSandboxOptions) {
    super(options);
    this.#options = options;
    this.files = gated(options.workspace.files, () => this.requireThere());
    this.#life = new Life(() => this.expire());
    this.#life.begin(options.identity.spec.ttl, [
      { type: "Isolated", status: false, reason: "Host", message: "its commands run on the host itself" },
      { type: "Ready", status: true, reason: "Started" },
    ]);
  }

  exec(command: string | readonly string[], given: ExecOptions = {}): Execution {
    const fault = commandFault(command, given);
    const options = fault === undefined ? given : {};
    const words =
      typeof command === "string" ? [SHELL, "-c", command] : fault === undefined ? [...command] : [];
    const { directory, obstacle = fault } = this.#directoryFor(options);
    const execution = new HostExecution({
      id: `${this.identity.id}/${++this.#number}`,
      ...{ words, directory, options },
      environment: { ...this.#options.environment, ...options.env },
      limits: limitsOf(this.identity.spec),
      began: (one) => {
        this.#running.add(one);
        this.#register();
      },
      over: (one) => {
        if (this.#running.delete(one)) this.#register();
      },
    });
    if (obstacle === undefined) void execution.run();
    else execution.refuse(obstacle);
    return execution;
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
    this.#life.suspend();
    for (const execution of this.#running) execution.suspend();
    signalBox(this.#options.box.name, "SIGSTOP");
  }

  async resume(): Promise<void> {
    if (this.#life.phase !== "suspended") return;
    signalBox(this.#options.box.name, "SIGCONT");
    for (const execution of this.#running) execution.resume();
    this.#life.resume();
  }

  protected override get native(): SandboxRef["native"] {
    return { directory: this.#options.box.directory };
  }

  protected get currentStatus(): SandboxStatus {
    return this.#life.status;
  }

  protected expireAfter(milliseconds: number): void {
    this.#life.renew(milliseconds);
  }

  protected async remove(): Promise<void> {
    const { box, clean } = this.#options;
    this.#life.finish();
    const running = [...this.#running];
    for (const execution of running) execution.stop({ outcome: "killed", why: "the sandbox was destroyed" });
    await Promise.all(running.map(({ result }) => result));
    await endBox(box.name);
    await clean();
  }

  /** Writes down which processes there are, for the janitor and other processes that clean up. */
  #register(): void {
    const processes = [...this.#running].flatMap(({ process }) => process ?? []);
    void this.#options.box.update({ processes }).catch(() => {});
  }

  /** The directory that a command runs in, or why it cannot. */
  #directoryFor({ directory = "", pty }: ExecOptions): { directory: string; obstacle?: string } {
    const root = this.#options.workspace.bound;
    const refuse = (obstacle: string) => ({ directory: root, obstacle });
    const { phase } = this.#life;
    if (phase === "suspended") return refuse("the sandbox is suspended: resume it first");
    if (phase !== "running") return refuse("the sandbox was destroyed");
    if (pty !== undefined) return refuse("there are no terminals on the host");
    try {
      const inside = directory === WORKSPACE || directory.startsWith(`${WORKSPACE}/`);
      const relative = inside ? directory.slice(WORKSPACE.length + 1) : directory;
      const path = relative.startsWith("/") ? relative : join(root, ...namesOf(relative));
      if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return { directory: path };
      return refuse(`there is no directory ${directory}`);
    } catch (error) {
      return refuse(error instanceof Error ? error.message : String(error));
    }
  }
}

const SHELL = existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh";
