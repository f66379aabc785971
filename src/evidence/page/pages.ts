import type { FactId } from "../../session/index.js";
import type { Recorded, Store } from "../../store/index.js";
import { defined } from "../../util/index.js";
import type { Answer } from "../audit/answer.js";
import { AuditError } from "../audit/error.js";
import { ask, type QuestionOptions, questions } from "../audit/question.js";
import { type AnswerPage, askEverywhere, askStretch, type StretchOptions } from "../audit/stretch.js";
import { type Compare, type CompareOptions, compare, type Side } from "./compare.js";
import {
  type BlameLine,
  type ConflictRow,
  type FileContent,
  type FileDiff,
  FilePages,
  type FileRow,
} from "./file.js";
import type { Graph, Marks } from "./graph.js";
import {
  type GraphPage,
  type GraphSummary,
  graphPage,
  graphSummary,
  markedRows,
  pageOf,
} from "./graph-page.js";
import { Graphs } from "./graphs.js";
import { LEVELS, type LevelName } from "./level.js";
import { type ListOptions, type ListPage, limitOf } from "./list.js";
import {
  type MemoriesOptions,
  MemoryPages,
  type MemoryReach,
  type MemoryRow,
  type MemorySpaceRow,
  type MemoryWhy,
  type SpacesOptions,
} from "./memory.js";
import { NEAR, type Prompt, promptOf } from "./prompt.js";
import { type Change, type RerunPlan, rerunPlan } from "./rerun.js";
import { type FactRow, RowReader } from "./row.js";
import { type DossierSection, SECTION_LIST, Sections } from "./section.js";
import { Soon } from "./soon.js";
import { type Series, type Span, series, timeline } from "./timeline.js";
import { filePart, type Turn, turns } from "./turn.js";

/**
 * The content of pages about sessions, from the record alone, in bounded pieces. The first question about a session reads it
 * once; every other one takes time in proportion to its answer.
 *
 * ```ts
 * const read = pages(store);
 * const { rows } = await read.graph("demo-1", { level: "step", page: 0 });
 * ```
 */
export function pages(store: Store, options: PagesOptions = {}) {
  const graphs = new Graphs(store, options);
  const reader = new RowReader(store);
  const contents = new RowReader(store, CONTENT);
  const files = new FilePages(store, reader);
  const soon = new Soon(options.patience ?? Number.POSITIVE_INFINITY);
  const memories = new MemoryPages(store, reader, soon);
  const sections = new Sections(store);
  const sideOf = async (ref: string): Promise<Side> => {
    const { graph, head } = await graphs.of(ref);
    return { graph, head: placeIn(graph, head) };
  };
  return {
    /** 256 rows of the graph with their lanes: page `page`, the page of the fact `of`, or the newest. */
    async graph(
      ref: string,
      options: AtHead & {
        readonly level?: LevelName | undefined;
        readonly page?: number | undefined;
        readonly of?: FactId | undefined;
      } = {},
    ): Promise<GraphPage> {
      const { level = "step", page, of, head } = options;
      if (!LEVELS.includes(level)) throw unknownWord("level", level, LEVELS);
      const { graph } = await graphs.of(ref);
      const until = head === undefined ? graph.length - 1 : placeIn(graph, head);
      const newest = pageOf(graph, level, until);
      const wanted = of === undefined ? (page ?? newest) : pageOf(graph, level, placeIn(graph, of));
      if (!Number.isSafeInteger(wanted) || wanted < 0 || wanted > newest)
        throw new AuditError(
          "question-refused",
          `The graph has no page ${wanted} at the level of a ${level}.`,
          `name one from 0 to ${newest}`,
          { level, pages: newest + 1 },
        );
      return graphPage(graph, reader, level, wanted, until);
    },
    /** How many rows there are at each level, the branches with their fates, and the minimap. */
    async summary(ref: string, { head }: AtHead = {}): Promise<GraphSummary> {
      const opened = await graphs.of(ref);
      const { graph } = opened;
      const place = placeIn(graph, head ?? opened.head);
      return graphSummary(graph, reader, place, head === undefined ? undefined : place);
    },
    /** Only the failures, the waits, the acts of people, or the forks of a graph. */
    async marked(
      ref: string,
      { only, ...options }: ListOptions & { readonly only: keyof Marks },
    ): Promise<ListPage<FactRow>> {
      const { graph } = await graphs.of(ref);
      if (!Object.hasOwn(graph.marks, only)) throw unknownWord("filter", only, Object.keys(graph.marks));
      return markedRows(graph, reader, only, options);
    },
    /** The conversation of a session, or of the branch that stands at `head`; from the turn of the fact `of` on. */
    async turns(
      ref: string,
      { head, of, ...options }: ListOptions & AtHead & { readonly of?: FactId | undefined } = {},
    ): Promise<ListPage<Turn>> {
      const opened = await graphs.of(ref);
      return turns(opened.graph, contents, placeIn(opened.graph, head ?? opened.head), {
        ...options,
        of: of === undefined ? undefined : placeIn(opened.graph, of),
      });
    },
    /** Calls, commands, waits and modules in the order in which they began. */
    async timeline(ref: string, { head, ...options }: ListOptions & AtHead = {}): Promise<ListPage<Span>> {
      const { graph } = await graphs.of(ref);
      return timeline(graph, contents, options, head === undefined ? undefined : placeIn(graph, head));
    },
    /** Tokens, cost and latency over time, in at most 1,000 buckets. */
    async series(ref: string, { buckets = 100 }: { readonly buckets?: number } = {}): Promise<Series> {
      limitOf(buckets, "buckets");
      return series((await graphs.of(ref)).graph, buckets);
    },
    /** One directory of the files of a session. */
    async files(
      ref: string,
      { head, path = "", ...options }: ListOptions & AtHead & { readonly path?: string | undefined } = {},
    ): Promise<ListPage<FileRow>> {
      return files.list(head ?? (await store.resolve(ref)), path, options);
    },
    /** The bytes of a file. */
    async file(ref: string, path: string, { head }: AtHead = {}): Promise<FileContent> {
      return files.content(head ?? (await store.resolve(ref)), path);
    },
    /** The paths that changed between two facts; `before` null is before any files. */
    changes: (before: FactId | null, after: FactId, options: ListOptions = {}): Promise<ListPage<FileRow>> =>
      files.changes(before, after, options),
    /** The difference of one file between two facts. */
    diff: (before: FactId | null, after: FactId, path: string): Promise<FileDiff> =>
      files.diff(before, after, path),
    /** The fact that wrote each line of a file, with the call, the model and the prompt behind it. */
    async blame(
      ref: string,
      path: string,
      { head, ...options }: ListOptions & AtHead = {},
    ): Promise<ListPage<BlameLine>> {
      return files.blame(head ?? (await store.resolve(ref)), path, options);
    },
    /** The conflicts in the files of a session, or those that a merge with `theirs` would leave. */
    async conflicts(ref: string, theirs?: string): Promise<readonly ConflictRow[]> {
      const other = theirs === undefined ? undefined : await store.resolve(theirs);
      return files.conflicts(await store.resolve(ref), other);
    },
    /** Two sessions, branches or facts beside each other, from their nearest common ancestor on. */
    async compare(a: string, b: string, options: CompareOptions = {}): Promise<Compare> {
      return compare(contents, await sideOf(a), await sideOf(b), options);
    },
    /** The memory spaces of the store. */
    spaces: (options: SpacesOptions = {}): Promise<ListPage<MemorySpaceRow>> => memories.spaces(options),
    /** The memories of a space, as they are or as of the fact `head` of it. */
    memories: (space: string, options: MemoriesOptions = {}): Promise<ListPage<MemoryRow>> =>
      memories.memories(space, options),
    /** The facts that a memory rests on. */
    why: (memory: FactId): Promise<MemoryWhy> => memories.why(memory),
    /** Everything that a memory reached: the preview of taking it out. */
    influence: (memory: FactId): Promise<MemoryReach> => memories.influence(memory),
    /** The prompt of a model call as it was sent, or of the last one before a fact. */
    prompt: (ref: string, fact: FactId, options: ListOptions = {}): Promise<Prompt> =>
      promptOf(store, ref, fact, options),
    /** A question to the record by its name: `questions` has them. */
    ask(question: string, ref: string, options: QuestionOptions = {}): Promise<Answer> {
      const near = { horizon: NEAR, ...options };
      if (!OF_MEMORIES.has(question)) return ask(store, question, ref, near);
      return soon.ask((progress) => ask(store, question, ref, { ...near, ...defined({ progress }) }));
    },
    /**
     * The same, of a thousand facts at a time, for the questions whose answers are made of all facts of a session: `next` goes on.
     * Without a session "by" is answered from the catalogue.
     */
    askPage: (question: string, ref: string, options: StretchOptions = {}): Promise<AnswerPage> =>
      ref === "" ? askEverywhere(store, options) : askStretch(store, question as "by", ref, options),
    questions,
    /** The sections of every dossier, in order. */
    sections: SECTION_LIST,
    /** A section of the dossier of a session. */
    section: (ref: string, section: string): Promise<DossierSection> => sections.section(ref, section),
    /** The effects that a rerun from a fact would have. It changes nothing. */
    async rerunPlan(ref: string, fact: FactId, change: Change): Promise<RerunPlan> {
      const { graph, head } = await graphs.of(ref);
      return rerunPlan(graph, reader, placeIn(graph, head), placeIn(graph, fact), change);
    },
    /** One fact, with its content as far as it is not larger than 4 MB; undefined when it is not here. */
    fact: (id: FactId): Promise<Recorded | undefined> => contents.fact(id),
    /** The bytes of a file of a message. */
    async part(fact: FactId, place: number): Promise<{ readonly media: string; readonly bytes: Uint8Array }> {
      const file = filePart((await contents.fact(fact))?.fact, place);
      if (file === undefined) throw unknownFact(fact, `has no file at ${place}`);
      return file;
    },
    /** Takes in where a name has moved to. */
    moved: (head: FactId): Promise<void> => graphs.moved(head),
    /** Takes in where a session has moved to that was asked about. */
    kept: (ref: string): Promise<void> => graphs.kept(ref),
  };
}

export type PagesOptions = {
  /** Only what is in the past of a session, as for a reader who may not see what others made of it. */
  readonly alone?: boolean;
  /**
   * A question that needs more facts to be read first is refused with the code `indexing`, and they are read beside it: for
   * servers, whose questions have little time. Left out, a question waits.
   */
  readonly patience?: number;
};

/** Questions that need the index of what memories reached. */
const OF_MEMORIES: ReadonlySet<string> = new Set(["memory", "ifFalse"]);

/** Content of more bytes is told by its digest. */
const CONTENT = 4_194_304;

/** Time travel, or a branch: the answer as of this fact. Left out, as of the end of the session. */
type AtHead = { readonly head?: FactId | undefined };

function unknownWord(thing: string, word: unknown, words: readonly string[]): AuditError {
  const given = String(word).slice(0, 40);
  const hint = `there are ${words.join(", ")}`;
  return new AuditError("question-refused", `The graph has no ${thing} ${JSON.stringify(given)}.`, hint, {
    [thing]: given,
  });
}

/** The place of a fact, by its id or the beginning of it. */
function placeIn(graph: Graph, id: FactId): number {
  const place = graph.table.ids.placeOf(id);
  if (place !== -1) return place;
  throw unknownFact(id, "is not in the graph of this session");
}

function unknownFact(id: FactId, problem: string): AuditError {
  return new AuditError(
    "question-refused",
    `The fact ${JSON.stringify(String(id).slice(0, 64))} ${problem}.`,
    "give the whole id of a fact of this session or of a branch that hangs from it",
    { fact: String(id).slice(0, 64) },
  );
}

export type Pages = ReturnType<typeof pages>;
