import type { Json } from "../../session/index.js";
import { byteLines } from "../verify/byte-lines.js";
import { type VerifiedFile, type VerifyFileOptions, verifyFile } from "../verify/file.js";
import { BundleError, FRAME } from "./form.js";

/** A bundle that was verified, and what is in it. */
export type Bundle = {
  readonly about: Json;
  readonly view: Json;
  /** The result of the verification: intact, or the bundle would not have been read. */
  readonly verified: VerifiedFile;
  /** The lines of the record, for `store.import`. */
  lines(): AsyncIterable<string>;
};

/** Reads a bundle: verifies all of it first, and refuses one that is not as it was sealed. */
export async function readBundle(
  source: string | Uint8Array,
  options: VerifyFileOptions = {},
): Promise<Bundle> {
  const verified = await verifyFile(source, options);
  if (verified.kind !== "bundle" || !verified.intact) {
    const [first] = verified.findings;
    throw new BundleError(
      verified.kind === "bundle"
        ? `This bundle is not as it was sealed: ${first?.place}: ${first?.problem}.`
        : "This is not a bundle.",
      verified.kind === "bundle"
        ? "ask for it again; `rath verify FILE` lists everything that is wrong with it"
        : "give the JSON file of a dossier: rath dossier SESSION -o FILE",
      { findings: verified.findings.slice(0, 20).map(({ place, problem }) => ({ place, problem })) },
    );
  }
  const sections = new Map<string, Json>();
  for await (const { text } of textLines(source))
    for (const section of ["about", "view"] as const)
      if (text.startsWith(FRAME[section]))
        sections.set(section, JSON.parse(text.slice(FRAME[section].length, -1)) as Json);
  return {
    about: sections.get("about") ?? null,
    view: sections.get("view") ?? null,
    verified,
    lines: () => recordOf(source),
  };
}

/** The lines of the record of a bundle, after all of it was verified. */
export async function* bundleLines(
  source: string | Uint8Array,
  options: VerifyFileOptions = {},
): AsyncIterable<string> {
  yield* (await readBundle(source, options)).lines();
}

async function* recordOf(source: string | Uint8Array): AsyncIterable<string> {
  for await (const { text, isRecord } of textLines(source))
    if (isRecord) yield text.endsWith(",") ? text.slice(0, -1) : text;
}

/** The text of each line, and whether it is of the record. */
async function* textLines(source: string | Uint8Array) {
  let isRecord = false;
  for await (const batch of byteLines(source))
    for (const { bytes } of batch) {
      const text = bytes.toString("utf8");
      if (text === FRAME.end) isRecord = false;
      yield { text, isRecord };
      if (text === FRAME.lines) isRecord = true;
    }
}
