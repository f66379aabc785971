import { newOwner } from "../../store/index.js";
import { checkSpec, secretsOf } from "../check-spec.js";
import { SandboxLostError } from "../error.js";
import { Lazy } from "../lazy.js";
import { identityOf, type SandboxIdentity } from "../open-sandbox.js";
import { OpenedSandboxes } from "../opened-sandboxes.js";
import type { ConnectOptions, CreateOptions, Sandbox, SandboxProvider } from "../sandbox.js";
import type { Capabilities, SandboxRef, SandboxSpec } from "../spec.js";
import { type DockerOptions, LABELS, nameOf } from "./body.js";
import { ContainerSandbox } from "./container.js";
import { Engine } from "./engine.js";
import { runHelper } from "./helper.js";
import { inventory, sweep } from "./inventory.js";
import { fill, type Launched, launch, made, owned } from "./launch.js";
import { probe } from "./probe.js";
import { everybody } from "./script.js";
import { findSocket } from "./socket.js";
import { endOf } from "./status.js";

export type { DockerOptions } from "./body.js";

const TIMEOUT = 60_000;

/**
 * Sandboxes that are containers of Docker or Podman on this machine. The engine is found at its socket and spoken to
 * directly; an image with `/bin/sh` and the usual small programs is all that a sandbox needs.
 */
export function dockerSandbox(options: DockerOptions = {}): SandboxProvider {
  return new DockerProvider(options);
}

class DockerProvider implements SandboxProvider {
  readonly name = "docker";
  readonly #options: DockerOptions;
  readonly #owner = newOwner();
  readonly #opened = new OpenedSandboxes<ContainerSandbox>();
  readonly #engine = new Lazy(() => this.#connect());
  readonly #probed = new Lazy(async () => probe(await this.#engine.get(), this.#options));
  /** Removes, once, what processes that are gone have left. */
  readonly #swept = new Lazy(async () => void (await sweep(await this.#engine.get())));

  constructor(options: DockerOptions) {
    this.#options = options;
  }

  capabilities(): Promise<Capabilities> {
    return this.#probed.get();
  }

  async create(spec: SandboxSpec, options: CreateOptions): Promise<Sandbox> {
    const checked = checkSpec(spec, this.name, await this.capabilities());
    const engine = await this.#engine.get();
    // A failed clean-up must not keep sandboxes from opening.
    await this.sweep().catch(() => {});
    return this.#opened.open(options, async (gone) => {
      const secrets = secretsOf(checked, options.secrets);
      const launched = await launch(engine, checked, options, this.#options, this.#owner);
      const identity = identityOf(this.name, checked, options);
      return this.#sandbox(engine, launched, { ...options, secrets }, identity, gone);
    });
  }

  async connect(ref: SandboxRef, options: ConnectOptions): Promise<Sandbox> {
    const engine = await this.#engine.get();
    const known = this.#opened.get(ref);
    if (known !== undefined) {
      const sandbox = await known;
      await sandbox.resume();
      return sandbox;
    }
    return this.#opened.open(ref, async (gone) => {
      const found = await made(engine, nameOf(ref.id, ref.incarnation));
      if (found === undefined || found.Config.Labels?.[LABELS.id] !== ref.id)
        throw new SandboxLostError(ref.id, "its container is gone");
      const { Status } = found.State;
      if (Status !== "running" && Status !== "paused") throw new SandboxLostError(ref.id, endOf(found.State));
      if (Status === "paused") await engine.json("POST", `/containers/${found.Id}/unpause`);
      else if (engine.about.name === "podman") await runHelper(engine, found.Id, everybody("CONT"));
      const inspected = await engine.json<Launched["inspected"]>("GET", `/containers/${found.Id}/json`);
      const launched = { inspected, owner: await owned(engine, inspected), fresh: false };
      const { status: _status, native: _native, ...identity } = ref;
      const secrets = secretsOf(ref.spec, options.secrets);
      return this.#sandbox(engine, launched, { ...options, secrets }, identity, gone);
    });
  }

  async *list(): AsyncGenerator<SandboxRef, void, void> {
    yield* inventory(await this.#engine.get());
  }

  sweep(): Promise<void> {
    return this.#swept.get();
  }

  async close(): Promise<void> {
    await this.#swept.known?.catch(() => {});
    this.#swept.forget();
    try {
      await this.#opened.close();
    } finally {
      this.#engine.forget();
      this.#probed.forget();
    }
  }

  async #connect(): Promise<Engine> {
    const { socket, timeout = TIMEOUT } = this.#options;
    return Engine.open(findSocket(socket), timeout);
  }

  async #sandbox(
    engine: Engine,
    launched: Launched,
    options: ConnectOptions,
    identity: SandboxIdentity,
    gone: () => void,
  ): Promise<ContainerSandbox> {
    return new ContainerSandbox({
      ...{ engine, ...launched, identity, options, gone },
      capabilities: await this.capabilities(),
      fill: (filling, tree) => fill(engine, filling, tree, options.trees, this.#owner),
      create: (spec, more) => this.create(spec, more),
    });
  }
}
