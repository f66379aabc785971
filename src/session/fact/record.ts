import { amount } from "../../util/index.js";
import { fact, openFact } from "./family.js";

/** The record itself. */
export const record = {
  /** Somebody erases content. */
  "content-erase": fact({
    by: "must say",
    fields: { digests: "digests", why: "text" },
    say: ({ digests, why: reason }, { why }) =>
      `erased ${Array.isArray(digests) ? amount(digests.length, "piece") : "pieces"} of content${why(reason)}`,
    trace: [],
  }),
  /** Somebody vouches for everything up to `of`: an Ed25519 signature, in base64, by the key of that id. */
  "head-sign": fact({
    by: "must say",
    fields: { of: "id", key: "text", signature: "text" },
    say: ({ of, key }, { named, words }) => `signed ${named(of)} with the key ${words(key)}`,
  }),
  /** The record comes from somewhere else. */
  "record-import": fact({
    by: "runtime",
    fields: { format: "text", source: "personal text", digest: "digest", detail: "personal json?" },
    say: ({ format, source }, { words }) => `imported ${words(source)} (${words(format)})`,
  }),
  /** A fact of your own. */
  note: openFact({
    by: "user",
    fields: { kind: "text?" },
    open: true,
    say: (fact, { words }) => {
      const { kind, type: _, at, by, run, seq, ...rest } = fact as { readonly [field: string]: unknown };
      return `noted ${kind === undefined ? "something" : words(kind)}${Object.keys(rest).length === 0 ? "" : `: ${words(rest)}`}`;
    },
  }),
};
