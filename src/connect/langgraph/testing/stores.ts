import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder of its own, and how to be rid of it. */
export function folder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "openrath-langgraph-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** URLs of new stores of each kind. */
export const KINDS: readonly {
  readonly kind: string;
  readonly url: (path: string, name: string) => string;
}[] = [
  { kind: "memory:", url: () => "memory:" },
  { kind: "sqlite:", url: (path, name) => `sqlite:${join(path, `${name}.db`)}` },
];
