import { onTestFinished } from "vitest";
import { type Digest, digestOf, type TreeEntry, writeTree } from "../../../session/index.js";
import type { Sandbox, SandboxProvider } from "../../sandbox.js";
import type { SandboxSpec } from "../../spec.js";
import { type BlobSpace, Trees } from "../../trees.js";
import { type VirtualOptions, virtualSandbox } from "../provider.js";

/** Blobs in memory that tell what was asked of them. */
export class Counted implements BlobSpace {
  readonly blobs = new Map<Digest, Uint8Array>();
  /** Which blobs were read. */
  read: Digest[] = [];
  /** Which blobs were put, known or not. */
  put: Digest[] = [];

  async putBlobs(blobs: readonly Uint8Array[]): Promise<readonly Digest[]> {
    return blobs.map((bytes) => {
      const digest = this.add(bytes);
      this.put.push(digest);
      return digest;
    });
  }

  async blob(digest: Digest): Promise<Uint8Array | undefined> {
    this.read.push(digest);
    return this.blobs.get(digest);
  }

  /** Puts a blob that is not counted. */
  add(bytes: Uint8Array): Digest {
    const digest = digestOf(bytes);
    this.blobs.set(digest, new Uint8Array(bytes));
    return digest;
  }

  /** Puts a tree that is not counted. */
  tree(entries: readonly TreeEntry[]): Digest {
    return this.add(Buffer.from(writeTree({ entries })));
  }

  /** Counts from nothing. */
  reset(): void {
    [this.read, this.put] = [[], []];
  }
}

/** A provider of the running test, and where its files are kept. */
export function virtual(options?: VirtualOptions): {
  readonly provider: SandboxProvider;
  readonly space: Counted;
  open(spec?: SandboxSpec, tree?: Digest | null): Promise<Sandbox>;
} {
  const provider = virtualSandbox(options);
  onTestFinished(() => provider.close());
  const space = new Counted();
  let count = 0;
  return {
    provider,
    space,
    // Trees remember what they have read, so each sandbox gets its own.
    open: (spec = {}, tree = null) =>
      provider.create(spec, { id: `box-${++count}`, incarnation: 1, tree, trees: new Trees(space) }),
  };
}

/** What a command prints, with what went wrong behind it. */
export async function said(
  sandbox: Sandbox,
  command: string | readonly string[],
  options?: Parameters<Sandbox["exec"]>[1],
): Promise<string> {
  const { stdout, stderr, why } = await sandbox.exec(command, options).result;
  return `${Buffer.from(stdout)}${Buffer.from(stderr)}${why ?? ""}`;
}
