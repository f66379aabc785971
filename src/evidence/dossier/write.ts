import { lstat, open } from "node:fs/promises";
import { basename } from "node:path";
import { type FactId, type Json, RathError } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { defined } from "../../util/index.js";
import { writeBundle } from "../bundle/index.js";
import type { PublicKey, SigningKey } from "../proof/index.js";
import type { Dossier } from "./dossier.js";
import { dossierOf } from "./dossier-of.js";
import { dossierHtml } from "./html/page.js";
import type { DossierOptions } from "./options.js";
import { writeWhole } from "./whole-file.js";
import { inline } from "./words.js";

export type WriteOptions = DossierOptions & {
  /** Which of the two files: both, unless it says otherwise. */
  readonly only?: "html" | "bundle";
  /** Takes the memory spaces along, as they were when they were read: with everything that they held then. */
  readonly memory?: boolean;
  /** Public keys that go along, and keys that sign the bundle. */
  readonly keys?: readonly PublicKey[];
  readonly sign?: readonly SigningKey[];
};

/** The files of a dossier, and what they are of. */
export type WrittenDossier = {
  readonly dossier: Dossier;
  readonly html?: { readonly file: string; readonly bytes: number };
  readonly bundle?: { readonly file: string; readonly bytes: number; readonly digest: string };
};

/**
 * Writes `BASE.html` for people and `BASE.json`, the bundle that proves it, each whole or not at all. A file
 * that `base` does not name exactly is replaced only if it is a dossier's.
 */
export async function writeDossier(
  store: Store,
  nameOrId: string,
  base: string,
  { only, memory = false, keys = [], sign = [], ...options }: WriteOptions = {},
): Promise<WrittenDossier> {
  const path = base.replace(/\.(?:html|json)$/i, "");
  const bundle = only === "html" ? undefined : `${path}.json`;
  const page = only === "bundle" ? undefined : `${path}.html`;
  for (const file of [bundle, page]) if (file !== undefined && file !== base) await requireOurs(file);
  const dossier = await dossierOf(store, nameOrId, options);
  // The page names the bundle by its digest, so the bundle is written first.
  const view = dossier as Json;
  const pieces = writeBundle(store, headsOf(dossier, memory), { about: aboutOf(dossier), view, keys, sign });
  const bundled = bundle === undefined ? undefined : { file: bundle, ...(await written(bundle, pieces)) };
  if (page === undefined) return { dossier, ...defined({ bundle: bundled }) };
  const beside = bundled && { bundle: { file: basename(bundled.file), digest: bundled.digest } };
  const { bytes } = await written(page, [dossierHtml(dossier, beside)]);
  return { dossier, html: { file: page, bytes }, ...defined({ bundle: bundled }) };
}

/** The sessions that the bundle holds: the one asked for, the branches that nothing took in, and spaces where wanted. */
function headsOf({ proof, memory }: Dossier, spaces: boolean): readonly FactId[] {
  const read = spaces ? memory.reads.items.flatMap(({ head }) => head ?? []) : [];
  const done = spaces ? memory.deeds.items.flatMap(({ facts }) => facts.at(-1) ?? []) : [];
  return [...new Set([...proof.heads.map(({ id }) => id), ...read, ...done])];
}

function aboutOf({ session, task, made, outcome }: Dossier): Json {
  return {
    kind: "dossier",
    session: { id: session.id, ...(session.name !== undefined && { name: session.name }) },
    task: inline(task.text),
    status: outcome.status,
    made,
  };
}

/** The first bytes of the files of a dossier. */
const BEGINNING = 2_048;
const OURS = {
  bundle: /^\{"bundle":\d+,\n/,
  page: /^<!doctype html>\n<html [^>]*><head>.*<meta name="generator" content="openrath"><title>Dossier: /,
};

/** Nobody named this file: what is there must be of a dossier, or nothing. */
async function requireOurs(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  // Where it cannot be looked at, writing fails and says why.
  if (found === undefined) return;
  // Opening a pipe may block without end, and a link is not its target.
  const start = found.isFile() ? await beginningOf(path).catch(() => "") : "";
  if (OURS.bundle.test(start) || OURS.page.test(start)) return;
  throw new RathError(
    "dossier-not-written",
    `Cannot write ${path}: something else has that name, and it is not the name that was given.`,
    {
      hint: `give another one: rath dossier SESSION -o OTHER; or write only the ${path.endsWith(".json") ? "page: --html-only" : "bundle: --bundle-only"}`,
      data: { path, code: "EEXIST" },
    },
  );
}

async function beginningOf(path: string): Promise<string> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(BEGINNING), 0, BEGINNING, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } finally {
    await file.close();
  }
}

async function written(path: string, pieces: AsyncIterable<string> | Iterable<string>) {
  try {
    return await writeWhole(path, pieces);
  } catch (error) {
    throw refusal(path, error);
  }
}

function refusal(path: string, error: unknown): unknown {
  const { code } = error as { readonly code?: unknown };
  if (error instanceof RathError || typeof code !== "string") return error;
  return new RathError("dossier-not-written", `Cannot write ${path}: ${code}.`, {
    hint: "choose a folder that is there and can be written to: rath dossier SESSION -o ./out/dossier",
    data: { path, code },
    cause: error,
  });
}
