import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { deserialize, serialize } from "node:v8";
import { digestOf, type FactId, VERSION } from "../../session/index.js";
import { besideStore, type Store } from "../../store/index.js";
import { writeWhole } from "../dossier/whole-file.js";
import { Graph } from "./graph.js";

/** The form of the file: a change of what a graph holds is a new one. */
const FORM = 2;
/** A graph with fewer facts is read again as quickly. */
export const WORTH = 20_000;

/** A graph as it was kept in a file, with the ends that it was read from. */
export type KeptGraph = { readonly graph: Graph; readonly head: FactId; readonly ends: readonly FactId[] };

type File = Omit<KeptGraph, "graph"> & {
  readonly made: string;
  readonly graph: ReturnType<Graph["saved"]>;
};

/**
 * Keeps the graph of a session beside its store, so that the next process need not read a million facts first. It holds no
 * content, is only a copy, and may be deleted at any time.
 */
export async function keepGraph(store: Store, ref: string, { graph, head, ends }: KeptGraph): Promise<void> {
  const path = pathOf(store, ref);
  if (path === undefined || graph.length < WORTH) return;
  const file: File = { made: madeBy(store), head, ends, graph: graph.saved() };
  await mkdir(join(path, ".."), { recursive: true });
  const bytes = serialize(file);
  await writeWhole(path, piecesOf(bytes));
}

/** Pieces that are written one by one, so that others may work between. */
function* piecesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += PIECE) yield bytes.subarray(from, from + PIECE);
}
const PIECE = 1 << 20;

/** The graph that was kept of a session, if this store and this version of the package made it. */
export async function keptGraph(store: Store, ref: string): Promise<KeptGraph | undefined> {
  const path = pathOf(store, ref);
  const bytes = path === undefined ? undefined : await readFile(path).catch(() => undefined);
  if (bytes === undefined) return undefined;
  try {
    const { made, head, ends, graph } = deserialize(bytes) as File;
    const isGood = made === madeBy(store) && (await store.has(head));
    return isGood ? { graph: Graph.load(graph), head, ends } : undefined;
  } catch {
    // Cut off, or of another version: the record has all of it.
    return undefined;
  }
}

function madeBy({ identity = "" }: Store): string {
  return `${FORM} ${VERSION} ${process.version} ${identity}`;
}

function pathOf(store: Store, ref: string): string | undefined {
  const path = besideStore(store);
  return path === undefined ? undefined : join(`${path}.graphs`, digestOf(ref).slice(0, 32));
}
