import { newOwner } from "../../store/index.js";
import { checkSpec, secretsOf } from "../check-spec.js";
import { SandboxLostError } from "../error.js";
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
  readonly #open = new Map<string, Promise<Sandbox>>();
  #engine: Promise<Engine> | undefined;
  #capabilities: Promise<Capabilities> | undefined;
  #swept: Promise<void> | undefined;

  constructor(options: DockerOptions) {
    this.#options = options;
  }

  capabilities(): Promise<Capabilities> {
    if (this.#capabilities === undefined) {
      const probed = this.#ready().then((engine) => probe(engine, this.#options));
      this.#capabilities = probed;
      // An engine that is not there now may be there later.
      probed.catch(() => {
        this.#capabilities = undefined;
      });
    }
    return this.#capabilities;
  }

  async create(spec: SandboxSpec, options: CreateOptions): Promise<Sandbox> {
    const checked = checkSpec(spec, this.name, await this.capabilities());
    const engine = await this.#ready();
    // What could not be removed is in nobody's way.
    await this.sweep().catch(() => {});
    return this.#once(options, async () => {
      const secrets = secretsOf(checked, options.secrets);
      const launched = await launch(engine, checked, options, this.#options, this.#owner);
      const { id, incarnation, tree, parent } = options;
      return this.#sandbox(
        engine,
        launched,
        { ...options, secrets },
        {
          provider: this.name,
          id,
          incarnation,
          spec: checked,
          tree,
          ...(parent !== undefined && { parent }),
        },
      );
    });
  }

  async connect(ref: SandboxRef, options: ConnectOptions): Promise<Sandbox> {
    const engine = await this.#ready();
    const known = this.#open.get(keyOf(ref));
    if (known !== undefined) {
      const sandbox = await known;
      await sandbox.resume();
      return sandbox;
    }
    return this.#once(ref, async () => {
      const found = await made(engine, nameOf(ref.id, ref.incarnation));
      if (found === undefined || found.Config.Labels?.[LABELS.id] !== ref.id)
        throw new SandboxLostError(ref.id, "its container is not there any more");
      const { Status } = found.State;
      if (Status !== "running" && Status !== "paused") throw new SandboxLostError(ref.id, endOf(found.State));
      if (Status === "paused") await engine.json("POST", `/containers/${found.Id}/unpause`);
      else if (engine.about.name === "podman") await runHelper(engine, found.Id, everybody("CONT"));
      const inspected = await engine.json<Launched["inspected"]>("GET", `/containers/${found.Id}/json`);
      const launched = { inspected, owner: await owned(engine, inspected), fresh: false };
      const { status: _status, native: _native, ...about } = ref;
      return this.#sandbox(
        engine,
        launched,
        { ...options, secrets: secretsOf(ref.spec, options.secrets) },
        about,
      );
    });
  }

  async *list(): AsyncGenerator<SandboxRef, void, void> {
    yield* inventory(await this.#ready());
  }

  /** Removes, once, what processes that are gone have left. */
  sweep(): Promise<void> {
    if (this.#swept === undefined) {
      const swept = this.#ready()
        .then(sweep)
        .then(() => {});
      this.#swept = swept;
      swept.catch(() => {
        this.#swept = undefined;
      });
    }
    return this.#swept;
  }

  async close(): Promise<void> {
    await this.#swept?.catch(() => {});
    this.#swept = undefined;
    const open = await Promise.allSettled(this.#open.values());
    const ended = open.map((one) => (one.status === "fulfilled" ? one.value.destroy() : undefined));
    const failed = (await Promise.allSettled(ended)).find((one) => one.status === "rejected");
    this.#engine = undefined;
    this.#capabilities = undefined;
    if (failed?.status === "rejected") throw failed.reason;
  }

  #ready(): Promise<Engine> {
    if (this.#engine === undefined) {
      const { socket, timeout = TIMEOUT } = this.#options;
      const opened = (async () => Engine.open(findSocket(socket), timeout))();
      this.#engine = opened;
      opened.catch(() => {
        this.#engine = undefined;
      });
    }
    return this.#engine;
  }

  /** One sandbox per id and incarnation, however often and by whomever it is asked for. */
  #once(key: Pick<SandboxRef, "id" | "incarnation">, open: () => Promise<Sandbox>): Promise<Sandbox> {
    const name = keyOf(key);
    let opened = this.#open.get(name);
    if (opened === undefined) {
      opened = open();
      this.#open.set(name, opened);
      opened.catch(() => this.#open.delete(name));
    }
    return opened;
  }

  async #sandbox(
    engine: Engine,
    { inspected, owner, fresh }: Launched,
    options: ConnectOptions,
    about: Omit<SandboxRef, "status">,
  ): Promise<Sandbox> {
    return new ContainerSandbox({
      engine,
      inspected,
      owner,
      fresh,
      about,
      options,
      capabilities: await this.capabilities(),
      fill: (filling, tree) => fill(engine, filling, tree, options.trees, this.#owner),
      create: (spec, more) => this.create(spec, more),
      gone: () => this.#open.delete(keyOf(about)),
    });
  }
}

function keyOf({ id, incarnation }: Pick<SandboxRef, "id" | "incarnation">): string {
  return JSON.stringify([id, incarnation]);
}
