import { createHash } from "node:crypto";
import { digestOf, type FactId, type Json } from "../../session/index.js";
import type { Store } from "../../store/index.js";
import { optionNames } from "../../util/index.js";
import { requireOptions } from "../proof/error.js";
import type { PublicKey, SigningKey } from "../proof/index.js";
import { Growth, leafHash } from "../proof/merkle.js";
import { signNote } from "../proof/note.js";
import { BundleError, FRAME, type Seal, SUM, signedText } from "./form.js";

export type BundleOptions = {
  /** A description of the bundle: title, task, names of sessions, when and by what it was made. */
  readonly about: Json;
  /** A view for readers, made from the record by the writer of the bundle. It is evidence of nothing by itself. */
  readonly view?: Json;
  /** Public keys that its signatures can be checked with. Those of `sign` go along in any case. */
  readonly keys?: readonly PublicKey[];
  readonly sign?: readonly SigningKey[];
};
const OPTIONS = optionNames<BundleOptions>()("about view keys sign");

/** The bundle of some sessions, streamed: the record with all blobs, its subject, a view, keys and a seal. */
export async function* writeBundle(
  store: Store,
  ids: readonly string[],
  options: BundleOptions,
): AsyncIterable<string> {
  requireOptions(options, OPTIONS, "writeBundle");
  if (!Array.isArray(ids) || ids.length === 0)
    throw new BundleError(
      "Cannot write a bundle of nothing.",
      "name the sessions: writeBundle(store, [id], { about })",
    );
  const heads: FactId[] = [];
  for (const id of ids) heads.push(await store.resolve(id));
  const { sign = [] } = options;
  const about = textOf(options.about, "about");
  const view = textOf(options.view ?? null, "view");
  const known = [...(options.keys ?? []), ...sign].map((key) => key.text);
  const keys = JSON.stringify([...new Set(known)]);
  yield `${FRAME.first}\n${FRAME.about}${about},\n${FRAME.lines}\n`;
  const record = new Sums();
  let before = "";
  for await (const line of store.export([...new Set(heads)])) {
    record.add(line);
    if (before !== "") yield `${before},\n`;
    before = line;
  }
  yield `${before}\n${FRAME.end}\n${FRAME.view}${view},\n${FRAME.keys}${keys},\n`;
  const seal = JSON.stringify(
    record.seal([...new Set(heads)], { about: digestOf(about), view: digestOf(view), keys: digestOf(keys) }),
  );
  const digest = digestOf(seal);
  const signatures = sign.map((key) => signNote(signedText(digest), key).trimEnd().split("\n").at(-1));
  yield `${FRAME.seal}${seal},\n${FRAME.digest}"${digest}",\n${FRAME.signatures}${JSON.stringify(signatures)}}\n`;
}

/** The fields of a seal about the record, gathered line by line. */
export class Sums {
  readonly #hash = createHash("sha256");
  readonly #tree = new Growth();
  readonly #sums: string[] = [];
  #blobs = 0;
  #erased = 0;

  add(line: string): void {
    const digest = digestOf(line);
    this.#hash.update(line).update("\n");
    this.#sums.push(digest.slice(0, SUM));
    if (line.startsWith('{"rath":')) this.#tree.add(leafHash(Buffer.from(digest, "hex")));
    else if (line.startsWith('{"blob":')) this.#blobs += 1;
    else this.#erased += 1;
  }

  seal(heads: readonly FactId[], others: Omit<Seal["sections"], "lines">): Seal {
    return {
      facts: this.#tree.size,
      blobs: this.#blobs,
      erased: this.#erased,
      root: this.#tree.root().toString("hex"),
      heads,
      sections: {
        about: others.about,
        lines: this.#hash.digest("hex"),
        view: others.view,
        keys: others.keys,
      },
      sums: this.#sums.join(""),
    };
  }
}

/** JSON in the one form that it has when it is read and written again. */
function textOf(value: Json, section: string): string {
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined || JSON.stringify(JSON.parse(text)) !== text)
    throw new BundleError(
      `The ${section} of a bundle is not JSON.`,
      "give what JSON.parse can give back, without undefined or functions",
    );
  return text;
}
