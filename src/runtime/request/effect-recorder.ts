import type { ExecOptions, ExecResult, Execution, Sandbox } from "../../sandbox/index.js";
import { gated, type SandboxLease } from "../../sandbox/pool/index.js";
import {
  asJson,
  EMPTY_TREE,
  type FactInput,
  type Json,
  type Principal,
  type Session,
  thrownMessage,
} from "../../session/index.js";
import { defined } from "../../util/index.js";
import { RefusedError } from "../given.js";
import type { Run } from "../run/run.js";
import { EVIDENCE, type Evidence } from "./evidence.js";
import type { PendingRequest } from "./pending-request.js";

/**
 * Offers one attempt at an effect the sandbox of its session, and a way to leave evidence.
 * Everything that is run and changed there is collected, and put on the record before the outcome.
 */
export class EffectRecorder {
  readonly #run: Run;
  readonly #controller: AbortController;
  /** The end of the chain of the call, as it was before it. */
  readonly #tip: Session;
  readonly #evidence: Evidence[];
  /** The tool that leaves the evidence. */
  readonly #by: { readonly by?: Principal };
  #taking: Promise<Sandbox> | undefined;
  #lease: SandboxLease | undefined;
  #dirty = false;
  #lost: string | undefined;
  #over = false;
  readonly #running = new Set<Promise<void>>();
  readonly #background = new Map<Execution, Evidence>();

  constructor({ asked, batch, evidence }: PendingRequest, controller: AbortController) {
    const { name = "" } = asked.fact as { readonly name?: string };
    this.#run = batch.run;
    this.#controller = controller;
    this.#tip = batch.chain.tip;
    this.#evidence = evidence;
    this.#by = name === "" ? {} : { by: `tool:${name}` };
  }

  record(fact: FactInput): void {
    if (this.#over)
      throw new RefusedError("record evidence", "the call is over", "record it before the call returns");
    if (!EVIDENCE.has(fact?.type))
      throw new RefusedError(
        "record evidence",
        `${JSON.stringify(fact?.type)} is nothing that a call can leave`,
        `it can leave ${[...EVIDENCE].join(", ")}`,
      );
    this.#evidence.push(fact as Evidence);
  }

  /** The sandbox of the session, opened when it is first asked for. */
  async sandbox(): Promise<Sandbox> {
    this.#requireOpen();
    this.#taking ??= this.#take();
    return this.#taking;
  }

  /** Once a call is over, or given up, its sandbox is somebody else's. */
  #requireOpen(): void {
    if (this.#over)
      throw new RefusedError("use the sandbox", "the call is over", "use it before the call returns");
  }

  async #take(): Promise<Sandbox> {
    const { pool, nonce } = this.#run;
    try {
      this.#lease = await pool.acquire({
        tip: this.#tip,
        run: nonce,
        record: (fact) => this.#evidence.push(fact),
        signal: this.#controller.signal,
      });
    } catch (error) {
      // The model can neither install a package nor start a daemon: the run stops here, and can be resumed where the sandbox is.
      if ((error as { readonly code?: unknown } | null)?.code === "sandbox-unavailable")
        this.#run.fail(error);
      throw error;
    }
    return this.#watched(this.#lease.live.sandbox);
  }

  /**
   * The call is over: what it changed is kept and told, and the sandbox is free for the next. Where the sandbox is gone, and
   * with it what the call did to the files, it is a `SandboxLostError`, whatever the call itself said; where the files are
   * too large to be kept, a `SnapshotLimitError`. A call that asked for no sandbox is over at once.
   *
   * @param abandoned whether the call was given up and still goes on: then nobody else may use its sandbox
   */
  finish(abandoned: boolean): Promise<void> | undefined {
    if (this.#over) return undefined;
    this.#over = abandoned || this.#taking === undefined;
    return this.#taking === undefined ? undefined : this.#release(this.#taking, abandoned);
  }

  async #release(taking: Promise<Sandbox>, abandoned: boolean): Promise<void> {
    // A sandbox that opens late is released all the same.
    await taking.catch(() => {});
    if (abandoned) this.#lost ??= "a call that was given up goes on in it";
    else await Promise.all(this.#running);
    this.#over = true;
    const lease = this.#lease;
    if (lease === undefined) return;
    const { live } = lease;
    for (const fact of this.#background.values()) this.#evidence.push(fact);
    if (this.#background.size > 0) live.drifting = true;
    const { SandboxLostError, SnapshotLimitError } = await import("../../sandbox/index.js");
    let limit: unknown;
    if (this.#lost === undefined) {
      try {
        await this.#tell(lease);
        this.#run.pool.release(lease, this.#tip, live.tree);
        return;
      } catch (error) {
        if (error instanceof SnapshotLimitError) limit = error;
        this.#lost = error instanceof Error ? (error.message.split("\n")[0] as string) : String(error);
      }
    }
    const { id, incarnation } = live;
    this.#evidence.push({ type: "sandbox-lose", sandbox: id, incarnation, why: this.#lost });
    await this.#run.pool.drop(lease);
    if (abandoned) return;
    throw limit ?? new SandboxLostError(id, this.#lost);
  }

  /** Records how the call changed the files, or which files it saw. */
  async #tell({ live, trees }: SandboxLease): Promise<void> {
    const evidence = this.#evidence;
    const before = live.tree;
    const seen = this.#dirty ? await live.sandbox.snapshot() : undefined;
    const after = seen === undefined || (before === null && seen.tree === EMPTY_TREE) ? before : seen.tree;
    if (after === before || after === null) {
      if (!evidence.some(({ type }) => type.startsWith("workspace-")))
        evidence.push({ type: "workspace-read", ...this.#by, tree: before, sandbox: live.id } as Evidence);
      return;
    }
    const { diffTrees } = await import("../../sandbox/index.js");
    const skipped = seen?.skipped ?? [];
    evidence.push({
      type: "workspace-change",
      ...this.#by,
      before,
      after,
      paths: await diffTrees(trees, before, after),
      sandbox: live.id,
      ...(skipped.length > 0 && { skipped }),
    } as Evidence);
    live.tree = after;
  }

  /** The sandbox, with everything that happens in it told. */
  #watched(sandbox: Sandbox): Sandbox {
    const { ref } = sandbox;
    const use = <Given extends unknown[], Result>(act: (...given: Given) => Result) => {
      return (...given: Given): Result => {
        this.#requireOpen();
        return act(...given);
      };
    };
    const named = { sandbox: ref.id, incarnation: ref.incarnation };
    const files = gated(sandbox, (method) => {
      this.#requireOpen();
      this.#dirty ||= CHANGING.has(method);
    });
    return {
      get ref() {
        return sandbox.ref;
      },
      capabilities: sandbox.capabilities,
      files,
      exec: use((command, options = {}) => this.#exec(sandbox, command, options)),
      snapshot: use(() => sandbox.snapshot()),
      restore: use((tree) => {
        this.#dirty = true;
        return sandbox.restore(tree);
      }),
      fork: use((options) => sandbox.fork(options)),
      suspend: use(async () => {
        await sandbox.suspend();
        this.#evidence.push({ type: "sandbox-suspend", ...named });
      }),
      resume: use(async () => {
        await sandbox.resume();
        this.#evidence.push({ type: "sandbox-resume", ...named });
      }),
      renew: use((milliseconds) => sandbox.renew(milliseconds)),
      status: () => sandbox.status(),
      destroy: () => {
        throw new RefusedError(
          "destroy this sandbox",
          "it belongs to its session, and is closed when the run is over",
          "leave it: its files are on the record, and nothing of it stays",
        );
      },
      [Symbol.asyncDispose]: async () => {},
    };
  }

  /** The same execution, whose result does not tell the values of secrets: results are what calls are recorded with. */
  #discreet(execution: Execution): Execution {
    const secrets = this.#lease?.secrets ?? {};
    if (Object.keys(secrets).length === 0) return execution;
    const result = execution.result.then((told) => ({
      ...told,
      stdout: concealed(told.stdout, secrets),
      stderr: concealed(told.stderr, secrets),
    }));
    return {
      id: execution.id,
      result,
      write: (bytes) => execution.write(bytes),
      end: () => execution.end(),
      kill: (signal) => execution.kill(signal),
      [Symbol.asyncIterator]: () => execution[Symbol.asyncIterator](),
    };
  }

  #exec(sandbox: Sandbox, command: string | readonly string[], options: ExecOptions): Execution {
    this.#dirty = true;
    const { background = false } = options;
    // A signal of the tool's own must not take the place of the run's.
    const own = this.#controller.signal;
    const signal = options.signal === undefined ? own : AbortSignal.any([own, options.signal]);
    const execution = this.#discreet(sandbox.exec(command, background ? options : { ...options, signal }));
    const told = (result: ExecResult | undefined): Evidence => ({
      type: "command-run",
      ...this.#by,
      sandbox: sandbox.ref.id,
      incarnation: sandbox.ref.incarnation,
      command: command as Json,
      ...defined({ directory: options.directory }),
      ...ranAs(result),
    });
    if (background) {
      this.#background.set(execution, told(undefined));
      execution.result.then(
        (result) => this.#background.has(execution) && this.#background.set(execution, told(result)),
        () => {},
      );
      return execution;
    }
    const done = execution.result.then(
      (result) => {
        this.#evidence.push(told(result));
        if (result.outcome === "lost")
          this.#lost ??= result.why ?? "it went away while a command was running";
      },
      (error: unknown) => {
        this.#lost ??= thrownMessage(error);
      },
    );
    this.#running.add(done);
    return execution;
  }
}

const CHANGING: ReadonlySet<string> = new Set(["write", "make", "remove", "move"]);

/** Bytes without the values of secrets: the name of a secret stands where its value was. */
function concealed(bytes: Uint8Array, secrets: { readonly [name: string]: string }): Uint8Array {
  let text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  for (const [name, value] of Object.entries(secrets))
    if (value !== "")
      text = text.replaceAll(Buffer.from(value, "utf8").toString("latin1"), `[secret ${name}]`);
  return Buffer.from(text, "latin1");
}

/** How a command ended, as it is recorded; a command that goes on by itself has not. */
function ranAs(result: ExecResult | undefined): {
  readonly outcome: string;
  readonly code: number | null;
  readonly milliseconds: number;
} {
  if (result === undefined) return { outcome: "running", code: null, milliseconds: 0 };
  const { outcome, code, signal, stdout, stderr, cut, milliseconds, network } = result;
  return {
    outcome,
    code,
    ...(signal !== undefined && { signal }),
    ...(stdout.length > 0 && { stdout: jsonOf(stdout) }),
    ...(stderr.length > 0 && { stderr: jsonOf(stderr) }),
    ...(cut > 0 && { cut }),
    ...(network !== undefined && network.length > 0 && { network: asJson(network) }),
    milliseconds: Math.round(milliseconds),
  };
}

/** Bytes as the record can hold them: text where they are text, else base64. */
function jsonOf(bytes: Uint8Array): Json {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.toString("utf8");
  return Buffer.from(text, "utf8").equals(buffer) ? text : { base64: buffer.toString("base64") };
}
