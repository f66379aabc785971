import type { Digest, FactId, Withheld } from "../../session/index.js";

/** Some of many: the first and the last. `gap` is the place in `items` where those left out would stand. */
export type Listed<Item> = {
  readonly items: readonly Item[];
  readonly total: number;
  readonly gap?: number;
};

/** Text of the record, or its beginning; or the word that it is not there any more. */
export type Told =
  | { readonly text: string /** Of the whole text. */; readonly characters: number }
  | {
      readonly withheld: Withheld["reason"];
      readonly digest: Digest;
      readonly size: number;
      readonly erasure?: { readonly by: string; readonly at: string; readonly why: string };
    };

/** Every item says which facts prove it, when it was, who did it and on which branch. */
export type Item = {
  readonly facts: readonly FactId[];
  /** Left out where the source of an import told no time. */
  readonly at?: string;
  readonly by: string;
  readonly branch: string;
};
