import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { defined } from "../../util/index.js";
import { checkSpec } from "../check-spec.js";
import { SandboxUnavailableError } from "../error.js";
import { Lazy } from "../lazy.js";
import { Registry, removeBox, stateDirectory } from "../local/registry.js";
import { type SweepReport, sweep } from "../local/sweep.js";
import { copiedWorkspace } from "../local/workspace.js";
import { identityOf } from "../open-sandbox.js";
import { OpenedSandboxes } from "../opened-sandboxes.js";
import type { ConnectOptions, CreateOptions, Sandbox, SandboxProvider } from "../sandbox.js";
import { type Capabilities, DEFAULT_LIMITS, type SandboxRef, type SandboxSpec } from "../spec.js";
import { environmentOf } from "./environment.js";
import { HostSandbox } from "./sandbox.js";

export type HostOptions = {
  /** Where workspaces are kept; only this user may be able to look into it. */
  readonly directory?: string;
  /** Told when something was cleaned up that a process which is gone had left. Default: a warning of the process. */
  readonly onSweep?: (report: SweepReport) => void;
};

/**
 * No sandbox at all, under its own name: commands run on this machine as the user who runs us, in a folder of their own, with
 * an environment that holds nothing of ours, and with limits of time and output. For machines that are themselves a
 * sandbox. What is recorded says `isolation: "none"`. Nothing falls back to it.
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

class HostProvider implements SandboxProvider {
  readonly name = "host";
  readonly #options: HostOptions;
  readonly #opened = new OpenedSandboxes<HostSandbox>();
  readonly #registry = new Lazy(() => this.#prepare());

  constructor(options: HostOptions) {
    this.#options = options;
  }

  async capabilities(): Promise<Capabilities> {
    return CAPABILITIES;
  }

  async create(spec: SandboxSpec, options: CreateOptions): Promise<Sandbox> {
    return this.#opened.open(options, (forget) => this.#make(spec, options, forget));
  }

  async connect(ref: SandboxRef, _options: ConnectOptions): Promise<Sandbox> {
    const sandbox = await this.#opened.require(ref, "no process of this host holds it");
    await sandbox.resume();
    return sandbox;
  }

  async *list(): AsyncIterable<SandboxRef> {
    const registry = await this.#registry.get();
    for (const { ref, provider } of await registry.list())
      if (provider === this.name && ref !== undefined) yield ref;
  }

  async sweep(): Promise<void> {
    await this.#registry.get();
  }

  async close(): Promise<void> {
    await this.#opened.close();
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
      const limit = DEFAULT_LIMITS.disk;
      const workspace = await copiedWorkspace({
        folder: box.directory,
        ...{ trees, tree, exclude, limit, signal },
      });
      signal?.throwIfAborted();
      const identity = identityOf(this.name, spec, options);
      const create = (next: SandboxSpec, others: CreateOptions) => this.create(next, others);
      const capabilities = CAPABILITIES;
      const sandbox = new HostSandbox({
        ...{ identity, options, capabilities, create },
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
