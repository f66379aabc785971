import { join } from "node:path";
import { writeDossier } from "../../evidence/dossier/index.js";
import type { FactId } from "../../session/index.js";
import type { Store } from "../../store/index.js";

/** Where the dossier of a session was written. */
export type DossierFiles = { readonly html: string; readonly bundle: string };

/** Writes the dossier into the folder of the demonstration; the bundle takes along what is remembered. */
export async function dossierIn(
  folder: string,
  store: Store,
  name: string,
  id: FactId,
): Promise<DossierFiles> {
  const base = join(folder, "dossier");
  const { html, bundle } = await writeDossier(store, id, base, { name, memory: true });
  return { html: html?.file ?? `${base}.html`, bundle: bundle?.file ?? `${base}.json` };
}
