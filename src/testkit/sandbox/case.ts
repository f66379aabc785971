import { deepStrictEqual, equal, ok } from "node:assert";
import { randomUUID } from "node:crypto";
import type {
  Capabilities,
  CreateOptions,
  ExecOptions,
  ExecResult,
  Execution,
  Sandbox,
  SandboxFiles,
  SandboxProvider,
  SandboxSpec,
} from "../../sandbox/index.js";
import { Trees } from "../../sandbox/index.js";
import { type Digest, digestOf } from "../../session/index.js";
import { type ConformanceCase, caseOf, refusedWith, until, within } from "../runner.js";

/** The subject of the suite. */
export type SandboxPlace = {
  /** A new provider of the kind to be tested; it is closed when the case is over. */
  readonly provider: () => Promise<SandboxProvider>;
  /** Where files are kept; in memory unless given. */
  readonly trees?: () => Trees;
};

/** A promise of a sandbox provider. */
export type SandboxCase = ConformanceCase<SandboxPlace>;

/** The tools of a case. Every sandbox it opens is destroyed when it is over. */
export interface Bench {
  readonly provider: SandboxProvider;
  readonly capabilities: Capabilities;
  readonly trees: Trees;
  /** A sandbox with an id of its own and an empty workspace, unless more is said. */
  open(spec?: SandboxSpec, options?: Partial<CreateOptions>): Promise<Sandbox>;
  /** Remembers a sandbox that was made otherwise, such as a fork. */
  own(sandbox: Sandbox): Sandbox;
}

/** A case from its title, which begins with the id it proves: `[E1] a command …`. */
export function promise(quoted: string, hold: (bench: Bench) => Promise<void>): SandboxCase {
  return caseOf(quoted, async (place: SandboxPlace) => {
    const owned: Sandbox[] = [];
    let provider: SandboxProvider | undefined;
    try {
      provider = await place.provider();
      const trees = place.trees?.() ?? new Trees(memorySpace());
      const opened = provider;
      const own = (sandbox: Sandbox): Sandbox => {
        owned.push(sandbox);
        return sandbox;
      };
      const open: Bench["open"] = async (spec = {}, options = {}) => {
        const given = { id: newId(), incarnation: 1, tree: null, trees, ...options };
        return own(await within("the opening of a sandbox", opened.create(spec, given), 60_000));
      };
      await hold({ provider, capabilities: await provider.capabilities(), trees, open, own });
    } finally {
      for (const sandbox of owned) await within("the end of a sandbox", sandbox.destroy());
      if (provider !== undefined) await within("the end of the provider", provider.close());
    }
  });
}

/** A case that begins with an open sandbox, whose workspace is empty. */
export function check(quoted: string, hold: (sandbox: Sandbox, bench: Bench) => Promise<void>): SandboxCase {
  return promise(quoted, async (bench) => hold(await bench.open(), bench));
}

/** Bytes that are kept in memory, which is enough for a test. */
function memorySpace(): ConstructorParameters<typeof Trees>[0] {
  const kept = new Map<Digest, Uint8Array>();
  return {
    putBlobs: async (blobs) =>
      blobs.map((bytes) => {
        const digest = digestOf(bytes);
        kept.set(digest, new Uint8Array(bytes));
        return digest;
      }),
    blob: async (digest) => kept.get(digest),
  };
}

export function newId(): string {
  return `box-${randomUUID().slice(0, 16)}`;
}

/** The result of a command, and its output as text. */
export type Ran = ExecResult & { readonly out: string; readonly err: string };

/** Runs a command to its end. */
export async function run(
  sandbox: Sandbox,
  command: string | readonly string[],
  options?: ExecOptions,
): Promise<Ran> {
  return ended(sandbox.exec(command, options));
}

export async function ended(execution: Execution): Promise<Ran> {
  const result = await within("the end of a command", execution.result, 60_000);
  return { ...result, out: text(result.stdout), err: text(result.stderr) };
}

/** Runs a command that must succeed, and returns what it printed. */
export async function done(
  sandbox: Sandbox,
  command: string | readonly string[],
  options?: ExecOptions,
): Promise<string> {
  const { outcome, code, out, err, why } = await run(sandbox, command, options);
  deepStrictEqual({ outcome, code, err, why }, { outcome: "ok", code: 0, err: "", why: undefined });
  return out;
}

/** Waits until a command has made the file "began". */
export async function begun(sandbox: Sandbox): Promise<void> {
  await until("the beginning of the command", async () => (await sandbox.files.stat("began")) !== undefined);
}

/** The names of the entries of a directory. */
export async function namesIn(files: SandboxFiles, path?: string): Promise<readonly string[]> {
  return (await files.list(path)).map(({ name }) => name);
}

export function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("utf8");
}

/** Checks bytes without printing megabytes when they differ. */
export function sameBytes(found: Uint8Array, expected: Uint8Array, what: string): void {
  equal(found.length, expected.length, `${what} has ${found.length} bytes instead of ${expected.length}`);
  ok(Buffer.from(found).equals(expected), `${what} has other bytes`);
}

/** Checks that something is refused with an error of this code, and returns the error. */
export async function refused(
  code: string | readonly string[],
  what: string,
  attempt: () => Promise<unknown>,
): Promise<Error> {
  return refusedWith(typeof code === "string" ? [code] : code, `${what}: `, attempt);
}

/** Details that only some providers state about themselves. */
export function isTold(capabilities: Capabilities, name: "streaming" | "partial"): boolean {
  return capabilities.detail?.[name] !== false;
}
