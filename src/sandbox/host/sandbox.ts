import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Digest } from "../../session/index.js";
import { commandFault } from "../check-call.js";
import { limitsOf, requireTime } from "../check-spec.js";
import { SandboxLostError } from "../error.js";
import { Life } from "../local/life.js";
import type { Box } from "../local/registry.js";
import { namesOf } from "../path.js";
import type { CreateOptions, ExecOptions, Execution, Sandbox, SandboxFiles, Snapshot } from "../sandbox.js";
import type { Capabilities, SandboxRef, SandboxSpec, SandboxStatus } from "../spec.js";
import type { Environment } from "./environment.js";
import { HostExecution } from "./execution.js";
import { gated } from "./files.js";
import { endBox, signalBox } from "./processes.js";
import type { HostWorkspace } from "./workspace.js";

/** What the workspace is called in paths that begin at the root, as in every other kind of sandbox. */
const WORKSPACE = "/workspace";

export type Opening = {
  readonly spec: SandboxSpec;
  readonly options: CreateOptions;
  readonly capabilities: Capabilities;
  readonly workspace: HostWorkspace;
  readonly environment: Environment;
  readonly box: Box;
  readonly create: (spec: SandboxSpec, options: CreateOptions) => Promise<Sandbox>;
  /** Removes everything of it that is on disk. */
  readonly clean: () => Promise<void>;
};

/** A folder of the host in which commands run as whoever runs us. Nothing keeps them in it. */
export class HostSandbox implements Sandbox {
  readonly capabilities: Capabilities;
  readonly files: SandboxFiles;
  readonly #opening: Opening;
  readonly #life: Life;
  readonly #running = new Set<HostExecution>();
  #number = 0;
  #destroyed: Promise<void> | undefined;

  constructor(opening: Opening) {
    this.#opening = opening;
    this.capabilities = opening.capabilities;
    this.files = gated(opening.workspace.files, () => this.#requireThere());
    const { ttl, onExpire = "delete" } = opening.spec;
    this.#life = new Life(ttl, async () => {
      if (onExpire === "suspend") await this.suspend();
      else if (onExpire === "delete") await this.destroy();
    });
    this.#life.begin();
  }

  get ref(): SandboxRef {
    const { spec, options, box } = this.#opening;
    return Object.freeze({
      provider: "host",
      id: options.id,
      incarnation: options.incarnation,
      native: { directory: box.directory },
      spec,
      status: this.#status(),
      tree: options.tree,
      ...(options.parent !== undefined && { parent: options.parent }),
    });
  }

  exec(command: string | readonly string[], given: ExecOptions = {}): Execution {
    const { environment, spec, options: opened } = this.#opening;
    const limits = limitsOf(spec);
    const fault = commandFault(command, given);
    const options = fault === undefined ? given : {};
    const words =
      typeof command === "string" ? [SHELL, "-c", command] : fault === undefined ? [...command] : [];
    const { directory, obstacle = fault } = this.#place(options);
    const execution = new HostExecution({
      id: `${opened.id}/${++this.#number}`,
      ...{ words, directory, options },
      environment: { ...environment, ...options.env },
      wall: options.wall ?? limits.wall,
      output: options.output ?? limits.output,
      began: (one) => {
        this.#running.add(one);
        this.#register();
      },
      over: (one) => {
        if (this.#running.delete(one)) this.#register();
      },
    });
    if (obstacle === undefined) execution.begin();
    else execution.refuse(obstacle);
    return execution;
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
    const { spec, options, create } = this.#opening;
    const { tree } = await this.snapshot();
    const parent = { id: options.id, incarnation: options.incarnation, by: "fork" as const };
    const { signal: _signal, ...rest } = options;
    return create(spec, { ...rest, id, incarnation, tree, parent });
  }

  async suspend(): Promise<void> {
    if (this.#life.phase !== "running") return;
    this.#life.suspend();
    for (const execution of this.#running) execution.suspend();
    signalBox(this.#opening.box.name, "SIGSTOP");
  }

  async resume(): Promise<void> {
    if (this.#life.phase !== "suspended") return;
    signalBox(this.#opening.box.name, "SIGCONT");
    for (const execution of this.#running) execution.resume();
    this.#life.resume();
  }

  async renew(milliseconds: number): Promise<void> {
    this.#requireThere();
    requireTime(milliseconds);
    this.#life.renew(milliseconds);
  }

  async status(): Promise<SandboxStatus> {
    return this.#status();
  }

  destroy(): Promise<void> {
    this.#destroyed ??= this.#end();
    return this.#destroyed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.destroy();
  }

  /** As any other, but for what it must say about itself. */
  #status(): SandboxStatus {
    const { phase, conditions } = this.#life.status;
    return Object.freeze({
      phase,
      conditions: conditions.map((condition) =>
        condition.type === "Isolated"
          ? Object.freeze({
              ...condition,
              status: false,
              reason: "Host",
              message: "its commands run on the host itself",
            })
          : condition,
      ),
    });
  }

  async #end(): Promise<void> {
    const { box, clean } = this.#opening;
    this.#life.finish();
    const running = [...this.#running];
    for (const execution of running) execution.stop({ outcome: "killed", why: "the sandbox was destroyed" });
    await Promise.all(running.map(({ result }) => result));
    await endBox(box.name);
    await clean();
  }

  /** Tells whoever cleans up after us which processes there are. */
  #register(): void {
    const processes = [...this.#running].flatMap(({ process }) => process ?? []);
    void this.#opening.box.update({ processes }).catch(() => {});
  }

  #requireThere(): void {
    if (this.#life.phase !== "running" && this.#life.phase !== "suspended")
      throw new SandboxLostError(this.#opening.options.id, "it was destroyed");
  }

  /** Where a command shall run, or why it cannot. */
  #place({ directory = "", pty }: ExecOptions): { directory: string; obstacle?: string } {
    const root = this.#opening.workspace.path;
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
