import { afterAll } from "vitest";
import { type Digest, digestOf } from "../../../session/index.js";
import type { ExecOptions, ExecResult, Sandbox, SandboxProvider } from "../../sandbox.js";
import type { SandboxSpec } from "../../spec.js";
import { Trees } from "../../trees.js";
import { localSandbox } from "../provider.js";
import { folder } from "./folder.js";

const providers: SandboxProvider[] = [];

/** A provider with a state directory of its own; closed when the file's tests are done. */
export function provider(state: string = folder()): SandboxProvider & { readonly state: string } {
  const made = localSandbox({ directory: state, onSweep: () => {} });
  providers.push(made);
  return Object.assign(made, { state });
}

/** A blob space in memory. */
export function memoryTrees(): Trees {
  const blobs = new Map<Digest, Uint8Array>();
  return new Trees({
    putBlobs: async (all) =>
      all.map((bytes) => {
        const id = digestOf(bytes);
        blobs.set(id, Uint8Array.from(bytes));
        return id;
      }),
    blob: async (id) => blobs.get(id),
  });
}

let count = 0;

/** A sandbox of its own. */
export async function open(
  spec: SandboxSpec = {},
  options: { readonly from?: SandboxProvider; readonly secrets?: { readonly [name: string]: string } } = {},
): Promise<Sandbox> {
  const { from = provider(), ...rest } = options;
  return from.create(spec, {
    id: `box-${++count}`,
    incarnation: 1,
    tree: null,
    trees: memoryTrees(),
    ...rest,
  });
}

export type Shown = Omit<ExecResult, "stdout" | "stderr"> & { readonly out: string; readonly err: string };

/** Runs a command and gives its output as text. */
export async function run(
  sandbox: Sandbox,
  command: string | readonly string[],
  options?: ExecOptions,
): Promise<Shown> {
  return shown(await sandbox.exec(command, options).result);
}

export function shown({ stdout, stderr, ...rest }: ExecResult): Shown {
  return { ...rest, out: Buffer.from(stdout).toString("utf8"), err: Buffer.from(stderr).toString("utf8") };
}

afterAll(async () => {
  await Promise.all(providers.splice(0).map((one) => one.close()));
});
