import { mkdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { checkSpec } from "../check-spec.js";
import { SandboxLostError, SandboxUnavailableError } from "../error.js";
import { type Box, Registry, stateDirectory } from "../local/registry.js";
import { type SweepReport, sweep } from "../local/sweep.js";
import type { ConnectOptions, CreateOptions, Sandbox, SandboxProvider } from "../sandbox.js";
import type { Capabilities, SandboxRef, SandboxSpec } from "../spec.js";
import { Directory } from "../workspace/directory.js";
import { removeEntry } from "../workspace/remove.js";
import { environmentOf } from "./environment.js";
import { HostSandbox } from "./sandbox.js";
import { HostWorkspace } from "./workspace.js";

export type HostOptions = {
  /** Where workspaces are kept; only this user may be able to look into it. */
  readonly directory?: string;
  /** Told when something was cleaned up that a process which is gone had left. Default: a warning of the process. */
  readonly onSweep?: (report: SweepReport) => void;
};

/**
 * No sandbox at all, under its own name: commands run on this machine as whoever runs us, in a folder of their own, with
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
  ...{
    fork: "copy",
    suspend: "freeze",
    exact: true,
    stdin: true,
    background: true,
    pty: false,
    names: "bytes",
  },
} as const);

class HostProvider implements SandboxProvider {
  readonly name = "host";
  readonly #options: HostOptions;
  readonly #open = new Map<string, Promise<HostSandbox>>();
  #registry: Promise<Registry> | undefined;

  constructor(options: HostOptions) {
    this.#options = options;
  }

  async capabilities(): Promise<Capabilities> {
    return CAPABILITIES;
  }

  async create(spec: SandboxSpec, options: CreateOptions): Promise<Sandbox> {
    const key = keyOf(options);
    const known = this.#open.get(key);
    if (known !== undefined) return known;
    const opening = this.#make(spec, options, () => {
      if (this.#open.get(key) === opening) this.#open.delete(key);
    });
    this.#open.set(key, opening);
    opening.catch(() => this.#open.delete(key));
    return opening;
  }

  async connect(ref: SandboxRef, _options: ConnectOptions): Promise<Sandbox> {
    const sandbox = await this.#open.get(keyOf(ref));
    if (sandbox === undefined)
      throw new SandboxLostError(ref.id, "no process of this host holds it any more");
    await sandbox.resume();
    return sandbox;
  }

  async *list(): AsyncIterable<SandboxRef> {
    const registry = await this.#prepared();
    for (const { ref, provider } of await registry.list())
      if (provider === this.name && ref !== undefined) yield ref;
  }

  async sweep(): Promise<void> {
    await this.#prepared();
  }

  async close(): Promise<void> {
    const all = await Promise.allSettled([...this.#open.values()]);
    await Promise.all(all.map((one) => (one.status === "fulfilled" ? one.value.destroy() : undefined)));
    const registry = await this.#registry?.catch(() => undefined);
    this.#registry = undefined;
    await registry?.close();
  }

  #prepared(): Promise<Registry> {
    this.#registry ??= this.#prepare().catch((error: unknown) => {
      this.#registry = undefined;
      throw error;
    });
    return this.#registry;
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
    // What could not be cleaned up is no reason to open nothing.
    await sweep(state, onSweep === undefined ? {} : { onSweep }).catch(() => {});
    return new Registry(state);
  }

  async #make(given: SandboxSpec, options: CreateOptions, over: () => void): Promise<HostSandbox> {
    const spec = checkSpec(given, this.name, CAPABILITIES);
    const registry = await this.#prepared();
    options.signal?.throwIfAborted();
    const { id, incarnation, trees, tree } = options;
    const box = await registry.add({ provider: this.name, id, incarnation });
    const clean = async () => {
      over();
      await removeBox(box);
    };
    try {
      const environment = environmentOf(spec, options.secrets ?? {}, box);
      for (const folder of ["", "home", "tmp"]) await mkdir(join(box.directory, folder), { mode: 0o700 });
      const path = join(box.directory, "workspace");
      const workspace = await HostWorkspace.make({ path, trees, tree, exclude: spec.exclude });
      options.signal?.throwIfAborted();
      const create = (next: SandboxSpec, others: CreateOptions) => this.create(next, others);
      const sandbox = new HostSandbox({
        ...{ spec, options, workspace, environment, box, create, clean },
        capabilities: CAPABILITIES,
      });
      await box.update({ ref: sandbox.ref });
      return sandbox;
    } catch (error) {
      await clean();
      throw error;
    }
  }
}

function keyOf({ id, incarnation }: { readonly id: string; readonly incarnation: number }): string {
  return `${incarnation} ${id}`;
}

async function removeBox(box: Box): Promise<void> {
  const boxes = Directory.at(dirname(box.directory));
  try {
    await removeEntry(boxes, basename(box.directory));
  } finally {
    boxes.close();
  }
  await box.remove();
}
