import type { catalogue, Pages } from "openrath/evidence";

export type { PendingRow } from "openrath/client";

/** The shapes that the server answers with: those of the library, so that a view that reads another field is a type error. */

type Catalogue = ReturnType<typeof catalogue>;
type AnswerOf<Question extends (...given: never[]) => unknown> = Awaited<ReturnType<Question>>;
type ItemOf<Question extends (...given: never[]) => unknown> =
  AnswerOf<Question> extends { readonly items: readonly (infer Item)[] } ? Item : never;

export type Page<T> = {
  readonly items: readonly T[];
  readonly next: string | null;
  readonly previous?: string | null;
  /** Something new is not in the index of the server yet. */
  readonly indexing?: true;
};

export type SessionRow = ItemOf<Catalogue["sessions"]>;
export type Hit = ItemOf<Catalogue["search"]>;

export type GraphPage = AnswerOf<Pages["graph"]>;
export type GraphRow = GraphPage["rows"][number];
export type Lane = GraphPage["lanes"][number];
export type Bend = GraphPage["bends"][number];
export type Level = GraphPage["level"];
export type GraphSummary = AnswerOf<Pages["summary"]>;
export type BranchRow = GraphSummary["branches"][number];
export type FactRow = ItemOf<Pages["marked"]>;

export type Turn = ItemOf<Pages["turns"]>;
export type Part = Turn["parts"][number];
export type Call = Extract<Part, { readonly type: "call" }>;
/** Content of the record, or its beginning with the way to the rest. */
export type Shown = Call["input"];
export type Span = ItemOf<Pages["timeline"]>;
export type Series = AnswerOf<Pages["series"]>;

export type FileRow = ItemOf<Pages["files"]>;
export type FileDiff = AnswerOf<Pages["diff"]>;
export type BlameLine = ItemOf<Pages["blame"]>;
export type ConflictRow = AnswerOf<Pages["conflicts"]>[number];

export type Compare = AnswerOf<Pages["compare"]>;
export type MemorySpace = ItemOf<Pages["spaces"]>;
export type MemoryRow = ItemOf<Pages["memories"]>;
export type MemoryWhy = AnswerOf<Pages["why"]>;
export type Influence = AnswerOf<Pages["influence"]>;
export type Prompt = AnswerOf<Pages["prompt"]>;

export type RerunPlan = AnswerOf<Pages["rerunPlan"]>;
export type RerunRequest = RerunPlan["real"][number];
export type DossierSection = AnswerOf<Pages["section"]>;
