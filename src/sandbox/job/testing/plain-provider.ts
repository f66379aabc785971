import { type Digest, digestOf, EMPTY_TREE } from "../../../session/index.js";
import { SandboxLostError } from "../../error.js";
import { Collector } from "../../execution.js";
import type { CreateOptions, ExecResult, Execution, Sandbox, SandboxProvider } from "../../sandbox.js";
import type { Capabilities, SandboxSpec } from "../../spec.js";
import { Trees } from "../../trees.js";

/** What a command of the plain provider does: how it ends, once it is let. */
export type Script = (place: {
  readonly id: string;
  readonly incarnation: number;
}) => Promise<Pick<ExecResult, "outcome" | "code">>;

/**
 * A provider without files or processes, for the order of things alone: commands end as a script says, and it counts what
 * is open at a time and what was never destroyed.
 */
export class PlainProvider implements SandboxProvider {
  readonly name = "plain";
  readonly open = new Set<string>();
  readonly suspended = new Set<string>();
  most = 0;
  readonly #script: Script;
  readonly #suspend: Capabilities["suspend"];

  constructor(script: Script, suspend: Capabilities["suspend"] = "none") {
    this.#script = script;
    this.#suspend = suspend;
  }

  async capabilities(): Promise<Capabilities> {
    return {
      isolation: "none",
      limits: [],
      network: ["none"],
      fork: "copy",
      suspend: this.#suspend,
      exact: true,
      stdin: false,
      background: false,
      pty: false,
      names: "text",
    };
  }

  async create(spec: SandboxSpec, options: CreateOptions): Promise<Sandbox> {
    const { id, incarnation, tree } = options;
    const key = `${id}#${incarnation}`;
    if (this.open.has(key)) throw new Error(`${key} is open already`);
    this.open.add(key);
    this.most = Math.max(this.most, this.open.size);
    const capabilities = await this.capabilities();
    const gone = (): void => {
      if (!this.open.has(key)) throw new SandboxLostError(id, "it was destroyed");
    };
    const sandbox = {
      ref: { provider: "plain", id, incarnation, spec, tree, status: { phase: "running", conditions: [] } },
      capabilities,
      exec: (_command, { signal } = {}) => this.#exec(id, incarnation, signal),
      files: undefined as never,
      snapshot: async () => {
        gone();
        return { tree: EMPTY_TREE, files: 0, bytes: 0, skipped: [] };
      },
      restore: async () => gone(),
      fork: (next) => this.create(spec, { ...options, incarnation: 1, ...next }),
      suspend: async () => {
        this.suspended.add(key);
      },
      resume: async () => {
        this.suspended.delete(key);
      },
      renew: async () => gone(),
      status: async () => ({ phase: "running", conditions: [] }),
      destroy: async () => {
        this.open.delete(key);
      },
      [Symbol.asyncDispose]: async () => {
        this.open.delete(key);
      },
    } satisfies Sandbox;
    return sandbox;
  }

  async connect(): Promise<never> {
    throw new SandboxLostError("any", "nothing is found again here");
  }

  async *list(): AsyncGenerator<never> {}

  async close(): Promise<void> {
    this.open.clear();
  }

  #exec(id: string, incarnation: number, signal: AbortSignal | undefined): Execution {
    const collector = new Collector(0);
    const end = (ending: Pick<ExecResult, "outcome" | "code">): void => {
      collector.end({ ...ending, milliseconds: 0 });
    };
    signal?.addEventListener("abort", () => end({ outcome: "killed", code: null }), { once: true });
    if (signal?.aborted === true) end({ outcome: "unstarted", code: null });
    else this.#script({ id, incarnation }).then(end, () => end({ outcome: "error", code: 1 }));
    return {
      id: `${id}/1`,
      result: collector.result,
      write: async () => {},
      end: () => {},
      kill: async () => end({ outcome: "killed", code: null }),
      [Symbol.asyncIterator]: () => collector[Symbol.asyncIterator](),
    };
  }
}

/** A space for trees that are never looked at. */
export function plainTrees(): Trees {
  const kept = new Map<Digest, Uint8Array>();
  return new Trees({
    putBlobs: async (blobs) =>
      blobs.map((bytes) => {
        const digest = digestOf(bytes);
        kept.set(digest, bytes);
        return digest;
      }),
    blob: async (digest) => kept.get(digest),
  });
}
