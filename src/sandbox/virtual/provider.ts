import { defined } from "../../util/index.js";
import { checkSpec } from "../check-spec.js";
import { Lazy } from "../lazy.js";
import { identityOf } from "../open-sandbox.js";
import { OpenedSandboxes } from "../opened-sandboxes.js";
import type { ConnectOptions, CreateOptions, Sandbox, SandboxProvider } from "../sandbox.js";
import type { Capabilities, SandboxRef, SandboxSpec } from "../spec.js";
import { remove } from "./remove.js";
import { VirtualSandbox } from "./sandbox.js";
import { loadShell, type VirtualCommand } from "./shell.js";
import type { Space } from "./space.js";

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
  readonly #opened = new OpenedSandboxes<VirtualSandbox>();
  readonly #shell = new Lazy(() => loadShell(this.#commands));

  constructor({ commands = [], now = Date.now }: VirtualOptions) {
    this.#commands = [remove, ...commands];
    this.#now = now;
  }

  async capabilities(): Promise<Capabilities> {
    const { version } = await this.#shell.get();
    return capabilitiesOf(version);
  }

  create(given: SandboxSpec, options: CreateOptions): Promise<Sandbox> {
    return this.#make(given, options);
  }

  async connect(ref: SandboxRef, _options: ConnectOptions): Promise<Sandbox> {
    const why = "a virtual sandbox is gone with the process that opened it, or was destroyed";
    const sandbox = await this.#opened.require(ref, why);
    await sandbox.resume();
    return sandbox;
  }

  list(): AsyncIterable<SandboxRef> {
    return this.#opened.refs();
  }

  close(): Promise<void> {
    return this.#opened.close();
  }

  #make(given: SandboxSpec, options: CreateOptions, space?: Space): Promise<Sandbox> {
    return this.#opened.open(options, async (over) => {
      const shell = await this.#shell.get();
      const capabilities = capabilitiesOf(shell.version);
      const spec = checkSpec(given, this.name, capabilities);
      options.signal?.throwIfAborted();
      return new VirtualSandbox({
        ...{ identity: identityOf(this.name, spec, options), options, capabilities },
        ...{ shell, commands: this.#commands, now: this.#now, over, ...defined({ space }) },
        create: (next, others, files) => this.#make(next, others, files),
      });
    });
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
      ...defined({ version }),
      // Output comes when the command ends, and not at all where it is ended before; input is taken when it is whole.
      streaming: false,
      partial: false,
    }),
  });
}
