import { checkSpec } from "../check-spec.js";
import { SandboxLostError } from "../error.js";
import type { ConnectOptions, CreateOptions, Sandbox, SandboxProvider } from "../sandbox.js";
import type { Capabilities, SandboxRef, SandboxSpec } from "../spec.js";
import { remove } from "./remove.js";
import { type Opening, VirtualSandbox } from "./sandbox.js";
import { loadShell, type Shell, type VirtualCommand } from "./shell.js";

export type VirtualOptions = {
  /** Commands beside those that the shell has, made with just-bash's `defineCommand`. They run in this process. */
  readonly commands?: readonly VirtualCommand[];
  /** The clock of the files, in milliseconds; default `Date.now`. */
  readonly now?: () => number;
};

/**
 * Sandboxes that need no operating system: the shell is just-bash, which interprets commands in this process, and the
 * files are in memory. For tests, documentation and Windows, and for agents that need files and text tools only.
 */
export function virtualSandbox(options: VirtualOptions = {}): SandboxProvider {
  return new VirtualProvider(options);
}

class VirtualProvider implements SandboxProvider {
  readonly name = "virtual";
  readonly #commands: readonly VirtualCommand[];
  readonly #now: () => number;
  readonly #open = new Map<string, Promise<VirtualSandbox>>();
  #shell: Promise<Shell> | undefined;

  constructor({ commands = [], now = Date.now }: VirtualOptions) {
    this.#commands = [remove, ...commands];
    this.#now = now;
  }

  async capabilities(): Promise<Capabilities> {
    const { version } = await this.#loaded();
    return capabilitiesOf(version);
  }

  create(given: SandboxSpec, options: CreateOptions): Promise<Sandbox> {
    return this.#once(options, async () => {
      const shell = await this.#loaded();
      const capabilities = capabilitiesOf(shell.version);
      const spec = checkSpec(given, this.name, capabilities);
      options.signal?.throwIfAborted();
      return new VirtualSandbox({
        ...{ spec, options, capabilities, shell, commands: this.#commands, now: this.#now },
        fork: (opening: Opening) => this.#once(opening.options, async () => new VirtualSandbox(opening)),
        over: ({ ref }) => this.#open.delete(keyOf(ref)),
      });
    });
  }

  async connect(ref: SandboxRef, _options: ConnectOptions): Promise<Sandbox> {
    const sandbox = await this.#open.get(keyOf(ref));
    if (sandbox === undefined)
      throw new SandboxLostError(
        ref.id,
        "a virtual sandbox is gone with the process that opened it, or was destroyed",
      );
    await sandbox.resume();
    return sandbox;
  }

  async *list(): AsyncIterable<SandboxRef> {
    for (const opening of [...this.#open.values()]) {
      const sandbox = await opening.catch(() => undefined);
      if (sandbox !== undefined) yield sandbox.ref;
    }
  }

  async close(): Promise<void> {
    const all = await Promise.allSettled([...this.#open.values()]);
    await Promise.all(all.map((one) => (one.status === "fulfilled" ? one.value.destroy() : undefined)));
  }

  /** The sandbox of an id and incarnation, made only if it is not there. */
  #once(
    place: { readonly id: string; readonly incarnation: number },
    make: () => Promise<VirtualSandbox>,
  ): Promise<VirtualSandbox> {
    const key = keyOf(place);
    const known = this.#open.get(key);
    if (known !== undefined) return known;
    const opening = make();
    this.#open.set(key, opening);
    opening.catch(() => this.#open.delete(key));
    return opening;
  }

  #loaded(): Promise<Shell> {
    this.#shell ??= loadShell(this.#commands).catch((error: unknown) => {
      this.#shell = undefined;
      throw error;
    });
    return this.#shell;
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
      ...(version !== undefined && { version }),
      // Output comes when the command ends, and not at all where it is ended before; input is taken when it is whole.
      streaming: false,
      partial: false,
    }),
  });
}

function keyOf({ id, incarnation }: { readonly id: string; readonly incarnation: number }): string {
  return `${incarnation} ${id}`;
}
