import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Sandbox, SandboxProvider, SandboxSpec } from "../../../../sandbox/index.js";
import { Trees } from "../../../../sandbox/index.js";
import { localSandbox } from "../../../../sandbox/local/provider.js";
import { virtualSandbox } from "../../../../sandbox/virtual/provider.js";
import { type Digest, digestOf, type FactInput, type Json, Session } from "../../../../session/index.js";
import { checkInput, runTool } from "../../call.js";
import type { Tool, ToolContext } from "../../tool.js";

export type Kind = "virtual" | "local";

/** The kinds of sandboxes that can be had here, and why the others cannot. */
export const KINDS: readonly { readonly kind: Kind; readonly missing: string | undefined }[] =
  await Promise.all(
    (["virtual", "local"] as const).map(async (kind) => ({ kind, missing: await missing(kind) })),
  );

/** Why tests with these programs cannot run in a local sandbox here; undefined when they can. */
export async function lacking(...programs: readonly string[]): Promise<string | undefined> {
  const local = KINDS.find(({ kind }) => kind === "local")?.missing;
  if (local !== undefined) return local;
  return within("local", async ({ sandbox }) => {
    for (const program of programs) {
      const { code } = await sandbox.exec(`command -v ${program}`).result;
      if (code !== 0) return `a local sandbox has no ${program} here`;
    }
    return undefined;
  });
}

/** Does something in a fresh workspace of a kind. */
export async function within<Result>(
  kind: Kind,
  act: (workspace: Workspace) => Promise<Result>,
  spec: SandboxSpec = {},
): Promise<Result> {
  const workspace = await Workspace.open(kind, spec);
  try {
    return await act(workspace);
  } finally {
    await workspace.close();
  }
}

/** Blobs in memory. */
class Blobs {
  readonly #held = new Map<Digest, Uint8Array>();

  async putBlobs(blobs: readonly Uint8Array[]): Promise<readonly Digest[]> {
    return blobs.map((bytes) => {
      const digest = digestOf(bytes);
      this.#held.set(digest, Uint8Array.from(bytes));
      return digest;
    });
  }

  async blob(digest: Digest): Promise<Uint8Array | undefined> {
    return this.#held.get(digest);
  }
}

/** A real sandbox, and calls of tools in it as an agent makes them. */
export class Workspace {
  readonly sandbox: Sandbox;
  readonly trees: Trees;
  readonly recorded: FactInput[] = [];
  readonly told: Json[] = [];
  readonly #end: () => Promise<void>;

  private constructor(sandbox: Sandbox, trees: Trees, end: () => Promise<void>) {
    this.sandbox = sandbox;
    this.trees = trees;
    this.#end = end;
  }

  static async open(kind: Kind, spec: SandboxSpec = {}): Promise<Workspace> {
    const { provider, remove } = await providerOf(kind);
    const trees = new Trees(new Blobs());
    const sandbox = await provider.create(spec, { id: "tools", incarnation: 1, tree: null, trees });
    return new Workspace(sandbox, trees, async () => {
      await provider.close();
      await remove();
    });
  }

  async write(files: { readonly [path: string]: string | Uint8Array }): Promise<void> {
    for (const [path, content] of Object.entries(files)) await this.sandbox.files.write(path, content);
  }

  async read(path: string): Promise<string> {
    return Buffer.from(await this.sandbox.files.read(path)).toString("utf8");
  }

  context(signal: AbortSignal = new AbortController().signal): ToolContext {
    const session = Session.start("hi").append({ type: "tool-call", name: "t", input: {} });
    return {
      signal,
      key: "k",
      attempt: 1,
      call: session.id,
      session,
      emit: (delta) => this.told.push(delta),
      secret: (name) => `value of ${name}`,
      redact: (value) => value,
      sandbox: async () => this.sandbox,
      record: (fact) => this.recorded.push(fact),
      store: async () => {
        throw new Error("no store here");
      },
    };
  }

  /** What a tool gives for an input, or the error that it throws. */
  async call(tool: Tool, input: Json, signal?: AbortSignal): Promise<Json> {
    const checked = await checkInput(tool, input);
    if (!checked.ok) throw new Error(checked.failure.message);
    return runTool(tool, checked.value, this.context(signal));
  }

  /** The same as text. */
  async say(tool: Tool, input: Json): Promise<string> {
    const output = await this.call(tool, input);
    return typeof output === "string" ? output : JSON.stringify(output);
  }

  async close(): Promise<void> {
    await this.#end();
  }
}

async function providerOf(
  kind: Kind,
): Promise<{ readonly provider: SandboxProvider; readonly remove: () => Promise<void> }> {
  if (kind === "virtual") return { provider: virtualSandbox(), remove: async () => {} };
  const directory = await mkdtemp(join(tmpdir(), "tools-"));
  return {
    provider: localSandbox({ directory }),
    remove: () => rm(directory, { recursive: true, force: true }),
  };
}

async function missing(kind: Kind): Promise<string | undefined> {
  const { provider, remove } = await providerOf(kind);
  try {
    await provider.capabilities();
    return undefined;
  } catch (error) {
    return error instanceof Error ? (error.message.split("\n")[0] as string) : String(error);
  } finally {
    await provider.close();
    await remove();
  }
}
