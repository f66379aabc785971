import { existsSync, statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { defined } from "../../util/index.js";
import { commandFault } from "../check.js";
import { checkSpec, limitsOf, secretsOf } from "../check-spec.js";
import { SandboxUnavailableError } from "../error.js";
import { Lazy } from "../lazy.js";
import { BOX_VARIABLE } from "../local/janitor.js";
import { type Box, Registry, removeBox, stateDirectory } from "../local/registry.js";
import { type SweepReport, sweep } from "../local/sweep.js";
import { copiedWorkspace, type Workspace } from "../local/workspace.js";
import { identityOf, OpeningProvider, type OpenSandboxOptions, WorkspaceSandbox } from "../open-sandbox.js";
import { namesOf } from "../path.js";
import type { CreateOptions, ExecOptions, Execution, Sandbox, SandboxProvider } from "../sandbox.js";
import { type Capabilities, DEFAULT_LIMITS, type SandboxRef, type SandboxSpec } from "../spec.js";
import { endBox, HostExecution, signalBox } from "./execution.js";

export type HostOptions = {
  /** Where workspaces are kept; only this user may be able to look into it. */
  readonly directory?: string;
  /** Told when something was cleaned up that a process which is gone had left. Default: a warning of the process. */
  readonly onSweep?: (report: SweepReport) => void;
};

/**
 * No isolation: commands run as the current user in a folder of their own, with limits of time and output and
 * a clean environment. For machines that are themselves a sandbox. The record says `isolation: "none"`.
 * Nothing falls back to it.
 */
export function hostSandbox(options: HostOptions = {}): SandboxProvider {
  return new HostProvider(options);
}

const CAPABILITIES: Capabilities = Object.freeze({
  isolation: "none",
  limits: Object.freeze(["wall", "output"] as const),
  network: Object.freeze(["full"] as const),
  fork: "copy",
  suspend: "freeze",
  exact: true,
  stdin: true,
  background: true,
  pty: false,
  names: "bytes",
} as const);

class HostProvider extends OpeningProvider<HostSandbox> {
  readonly name = "host";
  readonly #options: HostOptions;
  readonly #registry = new Lazy(() => this.#prepare());

  constructor(options: HostOptions) {
    super();
    this.#options = options;
  }

  async capabilities(): Promise<Capabilities> {
    return CAPABILITIES;
  }

  async create(spec: SandboxSpec, options: CreateOptions): Promise<Sandbox> {
    return this.open(options, (forget) => this.#make(spec, options, forget));
  }

  override async *list(): AsyncIterable<SandboxRef> {
    for (const { ref, provider } of await (await this.#registry.get()).list())
      if (provider === this.name && ref !== undefined) yield ref;
  }

  async sweep(): Promise<void> {
    await this.#registry.get();
  }

  override async close(): Promise<void> {
    await super.close();
    const registry = await this.#registry.known?.catch(() => undefined);
    this.#registry.forget();
    await registry?.close();
  }

  async #prepare(): Promise<Registry> {
    if (process.platform === "win32")
      throw new SandboxUnavailableError(
        "host",
        "it needs processes and files as Unix has them",
        'use "virtual", which needs no operating system, or "docker"',
      );
    const { directory, onSweep } = this.#options;
    const state = stateDirectory(this.name, directory);
    // A failed clean-up must not keep sandboxes from opening.
    await sweep(state, defined({ onSweep })).catch(() => {});
    return new Registry(state);
  }

  async #make(given: SandboxSpec, options: CreateOptions, forget: () => void): Promise<HostSandbox> {
    const spec = checkSpec(given, this.name, CAPABILITIES);
    const registry = await this.#registry.get();
    options.signal?.throwIfAborted();
    const { id, incarnation, trees, tree, signal } = options;
    const box = await registry.add({ provider: this.name, id, incarnation });
    const clean = async () => {
      forget();
      await removeBox(box);
    };
    try {
      const environment = environmentOf(spec, options.secrets ?? {}, box);
      for (const folder of ["", "home", "tmp"]) await mkdir(join(box.directory, folder), { mode: 0o700 });
      const { exclude } = spec;
      const workspace = await copiedWorkspace({
        folder: box.directory,
        ...{ trees, tree, exclude, limit: DEFAULT_LIMITS.disk, signal },
      });
      signal?.throwIfAborted();
      const identity = identityOf(this.name, spec, options);
      const create = (next: SandboxSpec, others: CreateOptions) => this.create(next, others);
      const sandbox = new HostSandbox({
        ...{ identity, options, capabilities: CAPABILITIES, create },
        ...{ workspace, environment, box, clean },
      });
      await box.update({ ref: sandbox.ref });
      return sandbox;
    } catch (error) {
      await clean();
      throw error;
    }
  }
}

/** The name of the workspace in paths that begin at the root, as in every other kind of sandbox. */
const WORKSPACE = "/workspace";

type HostSandboxOptions = OpenSandboxOptions & {
  readonly workspace: Workspace;
  readonly environment: Environment;
  readonly box: Box;
  /** Removes everything of it that is on disk. */
  readonly clean: () => Promise<void>;
};

/** A folder of the host in which commands run as the user who runs us. Nothing keeps them in it. */
class HostSandbox extends WorkspaceSandbox {
  readonly #options: HostSandboxOptions;
  readonly #running = new Set<HostExecution>();
  #number = 0;

  constructor(options: HostSandboxOptions) {
    super(options);
    this.#options = options;
    this.life.begin(options.identity.spec.ttl, [
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

  async suspend(): Promise<void> {
    if (this.life.phase !== "running") return;
    this.life.suspend();
    for (const execution of this.#running) execution.suspend();
    signalBox(this.#options.box.name, "SIGSTOP");
  }

  async resume(): Promise<void> {
    if (this.life.phase !== "suspended") return;
    signalBox(this.#options.box.name, "SIGCONT");
    for (const execution of this.#running) execution.resume();
    this.life.resume();
  }

  protected override get native(): SandboxRef["native"] {
    return { directory: this.#options.box.directory };
  }

  protected async remove(): Promise<void> {
    const { box, clean } = this.#options;
    this.life.finish();
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
    if (this.obstacle !== undefined) return refuse(this.obstacle);
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

export type Environment = { readonly [name: string]: string };

/** Variables of our own environment that commands may see: where programs are, and in which language they speak. */
const INHERITED = /^(PATH|LANG|LANGUAGE|TZ|LC_[A-Z]+)$/;

/** The variables of commands: some of ours without secrets, the spec's, and one that names the box. */
export function environmentOf(spec: SandboxSpec, secrets: Environment, box: Box): Environment {
  const inherited = Object.entries(process.env).filter(
    ([name, value]) => INHERITED.test(name) && value !== undefined,
  );
  return {
    PATH: "/usr/local/bin:/usr/bin:/bin",
    ...(Object.fromEntries(inherited) as Environment),
    HOME: join(box.directory, "home"),
    TMPDIR: join(box.directory, "tmp"),
    ...spec.env,
    ...secretsOf(spec, secrets),
    [BOX_VARIABLE]: box.name,
  };
}
