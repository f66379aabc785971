import { digestOf, type Fact, type FactId, type FactOf, type Usage } from "../../session/index.js";
import type { Recorded } from "../../store/index.js";
import { defined, isObject } from "../../util/index.js";
import { type Shown, shown } from "./content.js";
import type { Graph } from "./graph.js";
import { moduleName } from "./graph-page.js";
import { lineTo } from "./line.js";
import { type ListOptions, type ListPage, pageOf, stretchOf } from "./list.js";
import { type FactRow, factRow, type RowReader } from "./row.js";

/** A turn of the conversation as a person reads it: what one side said, and the calls that came of it. */
export type Turn = {
  readonly id: FactId;
  /** Its number on the line. */
  readonly index: number;
  readonly role: "user" | "assistant" | "system" | "notice";
  readonly parts: readonly TurnPart[];
  readonly at: number | null;
  readonly by: string;
  readonly branch: string;
  readonly module?: string;
  readonly model?: string;
  readonly usage?: Usage & { readonly cost: number | null; readonly milliseconds?: number };
  /** Its reply was taken from an earlier run. */
  readonly taken?: FactId;
  /** No reply is there yet. */
  readonly open?: true;
  /** Facts of the turn that were not read: it has more than 400. */
  readonly more?: number;
};

export type TurnPart =
  | ({ readonly type: "text" | "reasoning" } & Shown)
  | ({ readonly type: "call" } & Call)
  | ImagePart
  | { readonly type: "notice"; readonly row: FactRow };

/** A file of a message, by its digest: `part` of `pages` gives its bytes. */
export type ImagePart = {
  readonly type: "image";
  readonly fact: FactId;
  readonly part: number;
  readonly media: string;
  readonly name?: string;
  readonly digest?: string;
  readonly size?: number;
  /** Its address, where the record has no bytes of it. Nobody has loaded it. */
  readonly url?: string;
};

export type Call = {
  readonly id: FactId;
  readonly tool: string;
  readonly input: Shown;
  readonly effect?: string;
  readonly state: "open" | "done" | "failed" | "in-doubt";
  readonly outcome?: Shown;
  readonly result?: FactId;
  readonly ms?: number;
  readonly attempts: number;
  /** The failure of each attempt that was repeated. */
  readonly tries: readonly Shown[];
  readonly commands: readonly CommandRow[];
  readonly files: readonly { readonly fact: FactId; readonly path: string; readonly change: string }[];
  /** Questions, answers, rulings and checks that belong to the call. */
  readonly notes: readonly FactRow[];
  readonly taken?: FactId;
};

export type CommandRow = {
  readonly id: FactId;
  readonly command: Shown;
  readonly outcome: string;
  readonly code: number | null;
  readonly ms: number;
  readonly stdout?: Shown;
  readonly stderr?: Shown;
};

type Draft = { -readonly [Key in keyof Call]: Call[Key] } & {
  commands: CommandRow[];
  files: { fact: FactId; path: string; change: string }[];
  notes: FactRow[];
  tries: Shown[];
};

/** So many facts of one turn, and of one page, are read. */
const TURN = 400;
const PAGE = 4_000;
const TEXT = 20_000;
const PATHS = 100;

/** The turns of the line that leads to a fact; a page may be short where turns have many facts. */
export async function turns(
  graph: Graph,
  reader: RowReader,
  head: number,
  { of, ...options }: ListOptions & { readonly of?: number | undefined },
): Promise<ListPage<Turn>> {
  const { places, turns: starts } = lineTo(graph, head);
  const given = stretchOf(options, starts.length);
  // A cursor goes on from a page that began there.
  const from = of === undefined || options.after !== undefined ? given.from : turnOfPlace(places, starts, of);
  const stretch = { ...given, from };
  const items: Turn[] = [];
  let read = 0;
  let at = stretch.from;
  for (; at >= 0 && at < starts.length && items.length < stretch.limit && read < PAGE; at += stretch.step) {
    const { turn, facts } = await turnAt(graph, reader, head, at);
    items.push(turn);
    read += facts;
  }
  return pageOf(items, stretch, at - stretch.step, starts.length);
}

/** The turn that holds a fact. A fact beside the line came in with the next fact on it. */
function turnOfPlace(places: Int32Array, starts: readonly number[], of: number): number {
  const offset = places.findIndex((place) => place >= of);
  const after = starts.findIndex((start) => start > (offset === -1 ? places.length : offset));
  return (after === -1 ? starts.length : after) - 1;
}

async function turnAt(graph: Graph, reader: RowReader, head: number, index: number) {
  const { places, turns: starts } = lineTo(graph, head);
  const from = starts[index] as number;
  const end = starts[index + 1] ?? places.length;
  const facts: Recorded[] = [];
  for (let offset = from; offset < Math.min(end, from + TURN); offset++)
    for (const place of [...besides(graph, places[offset] as number), places[offset] as number]) {
      const recorded = await reader.fact(graph.table.ids.at(place));
      if (recorded !== undefined) facts.push(recorded);
    }
  const first = places[from] as number;
  const module = await moduleName(graph, reader, first);
  const more = end - from - TURN;
  const known = {
    index,
    branch: graph.branchAt(first).name,
    ...defined({ module }),
    ...(more > 0 && { more }),
  };
  return { turn: turnOf(facts, graph.table.ids.at(first), known), facts: facts.length };
}

/** Answers of people hang beside the line, and come in with the fact that takes them. */
function besides(graph: Graph, place: number): readonly number[] {
  const { table } = graph;
  return table
    .parentsAt(place)
    .filter((parent) => parent !== graph.beforeAt(place))
    .filter((parent) => /^(?:approval|signal)-give$/.test(table.typeAt(parent)));
}

function turnOf(
  facts: readonly Recorded[],
  id: FactId,
  known: Pick<Turn, "index" | "branch" | "module" | "more">,
): Turn {
  const [first] = facts;
  if (first === undefined) return { id, role: "notice", parts: [], at: null, by: "", ...known };
  const { at, by } = factRow(first);
  const speech = facts.find(({ fact }) => SPEECH.test(fact.type));
  const calls = callsOf(facts);
  const parts = partsOf(speech, calls);
  const notices = facts
    .filter(({ fact, id: one }) => one !== speech?.id && isNotice(fact) && !calls.noted.has(one))
    .map((recorded) => ({ type: "notice" as const, row: factRow(recorded) }));
  const told = new Set(parts.flatMap((part) => (part.type === "call" ? [part.id] : [])));
  const others = [...calls.drafts.values()].filter((call) => !told.has(call.id));
  return {
    id,
    role: roleOf(first.fact),
    parts: [...parts, ...others.map((call) => ({ type: "call" as const, ...call })), ...notices],
    at,
    by,
    ...known,
    ...(first.fact.type === "model-call" && asked(first.fact, speech?.fact)),
  };
}

const SPEECH = /^(?:session-start|message-say|model-reply|context-compress)$/;

function isNotice({ type }: Fact): boolean {
  return /^(?:session-detach|branch-|run-|model-failure|budget-stop|signal-|approval-|timer-set|wait-cancel|memory-|content-erase|head-sign|record-import|note|skill-|placement-)/.test(
    type,
  );
}

function roleOf(fact: Fact): Turn["role"] {
  if (fact.type === "session-start") return "user";
  if (fact.type === "model-call") return "assistant";
  return fact.type === "message-say" ? fact.role : fact.type === "context-compress" ? "system" : "notice";
}

function asked(call: FactOf<"model-call">, reply: Fact | undefined): Partial<Turn> {
  if (reply?.type !== "model-reply") return { model: call.model, open: true };
  const { usage, cost = null, milliseconds, from } = reply;
  return {
    model: reply.model ?? call.model,
    usage: { ...usage, cost, ...defined({ milliseconds }) },
    ...defined({ taken: from }),
  };
}

/** The words of a speech, and the calls at the places where it asks for them. */
function partsOf(speech: Recorded | undefined, calls: Calls): readonly TurnPart[] {
  if (speech === undefined) return [];
  const { fact, id } = speech;
  const content =
    fact.type === "session-start" ? fact.text : fact.type === "context-compress" ? fact.summary : said(fact);
  if (content === undefined) return [];
  if (!Array.isArray(content)) return [{ type: "text", ...shown(content, TEXT) }];
  return content.flatMap((part: unknown, place): readonly TurnPart[] => {
    if (!isObject(part)) return [];
    if (part.type === "text" || part.type === "reasoning")
      return [{ type: part.type, ...shown(part.text, TEXT) }];
    if (part.type === "file") return [imageOf(part, id, place)];
    if (part.type === "withheld") return [{ type: "text", ...shown(part) }];
    if (part.type !== "tool-call") return [];
    const call = calls.wanted.get(String(part.call));
    return [{ type: "call", ...(call ?? wantedOnly(part, id)) }];
  });
}

function said(fact: Fact): unknown {
  return fact.type === "message-say" || fact.type === "model-reply" ? fact.content : undefined;
}

/** A call that a model wants and that nobody has begun, or that the provider made. */
function wantedOnly(part: { readonly [field: string]: unknown }, id: FactId): Call {
  return {
    id,
    tool: String(part.name),
    input: shown(part.input),
    state: part.provider === true ? "done" : "open",
    attempts: 0,
    tries: [],
    commands: [],
    files: [],
    notes: [],
  };
}

function imageOf(part: { readonly [field: string]: unknown }, fact: FactId, place: number): ImagePart {
  const { media, name, data } = part;
  const about = {
    type: "image" as const,
    fact,
    part: place,
    media: String(media),
    ...(typeof name === "string" && { name }),
  };
  if (typeof data !== "string") return about;
  if (isAddress(data)) return { ...about, url: data.slice(0, 2_000) };
  const bytes = bytesOf(data);
  return { ...about, digest: digestOf(bytes), size: bytes.length };
}

/** The bytes of a file of a message: base64, or a data address. */
function bytesOf(data: string): Uint8Array {
  return Buffer.from(data.startsWith("data:") ? data.slice(data.indexOf(",") + 1) : data, "base64");
}

/** A file of a message, if there is one whose bytes are in the record. */
export function filePart(fact: Fact | undefined, place: number) {
  const content: unknown = fact && (fact.type === "session-start" ? fact.text : said(fact));
  const part: unknown = Array.isArray(content) ? content[place] : undefined;
  if (!isObject(part) || part.type !== "file" || typeof part.data !== "string" || isAddress(part.data))
    return undefined;
  return { media: String(part.media), bytes: bytesOf(part.data) };
}

function isAddress(data: string): boolean {
  return /^[a-z][a-z0-9+.-]*:/i.test(data) && !data.startsWith("data:");
}

type Calls = {
  readonly drafts: ReadonlyMap<FactId, Draft>;
  /** The same by the name that the model gave them. */
  readonly wanted: ReadonlyMap<string, Draft>;
  /** Facts that stand with their call. */
  readonly noted: ReadonlySet<FactId>;
};

function callsOf(facts: readonly Recorded[]): Calls {
  const drafts = new Map<FactId, Draft>();
  const wanted = new Map<string, Draft>();
  const noted = new Set<FactId>();
  /** The call that a question is about. */
  const asks = new Map<FactId, Draft>();
  for (const recorded of facts) {
    const { id, fact } = recorded;
    if (fact.type === "tool-call" || fact.type === "step-call") {
      const draft = draftOf(id, fact);
      drafts.set(id, draft);
      if (fact.type === "tool-call" && fact.call !== undefined) wanted.set(fact.call, draft);
      continue;
    }
    const of = (fact as { readonly of?: unknown }).of;
    const call = typeof of === "string" ? (drafts.get(of) ?? asks.get(of)) : undefined;
    if (call === undefined) continue;
    if (fact.type === "approval-ask") asks.set(id, call);
    noted.add(id);
    more(call, recorded);
  }
  return { drafts, wanted, noted };
}

function draftOf(id: FactId, { name, input, effect }: FactOf<"tool-call" | "step-call">): Draft {
  const lists = { tries: [], commands: [], files: [], notes: [] };
  return {
    id,
    tool: name,
    input: shown(input ?? null),
    ...defined({ effect }),
    state: "open",
    attempts: 0,
    ...lists,
  };
}

/** Adds a fact to the call that it is about. */
function more(call: Draft, recorded: Recorded): void {
  const { id, fact } = recorded;
  switch (fact.type) {
    case "tool-result":
    case "step-result":
      Object.assign(call, over(id, fact), { state: "done" });
      call.outcome = shown(fact.type === "tool-result" ? fact.output : fact.value);
      return;
    case "tool-failure":
    case "step-failure":
      Object.assign(call, over(id, fact), { state: "failed" });
      call.outcome = shown(fact.error);
      return;
    case "effect-start":
      call.attempts = Math.max(call.attempts, fact.attempt);
      return;
    case "effect-fail":
      call.attempts = Math.max(call.attempts, fact.attempt);
      call.tries.push(shown(fact.error));
      return;
    case "effect-doubt":
      call.state = "in-doubt";
      call.notes.push(factRow(recorded));
      return;
    case "command-run": {
      const { command, outcome, code, milliseconds, stdout, stderr } = fact;
      const output = defined({
        stdout: stdout === undefined ? undefined : shown(stdout, TEXT),
        stderr: stderr === undefined ? undefined : shown(stderr, TEXT),
      });
      call.commands.push({
        id,
        command: shown(command),
        outcome,
        code,
        ms: milliseconds,
        ...defined(output),
      });
      return;
    }
    case "workspace-change":
    case "workspace-merge":
    case "workspace-resolve": {
      const paths: readonly unknown[] = Array.isArray(fact.paths) ? fact.paths : [];
      for (const one of paths.filter(isObject).slice(0, PATHS))
        call.files.push({ fact: id, path: String(one.path), change: String(one.change) });
      return;
    }
    case "effect-settle":
      call.state = "open";
      call.notes.push(factRow(recorded));
      return;
    default:
      if (!/^(?:sandbox|workspace|answer)-/.test(fact.type)) call.notes.push(factRow(recorded));
  }
}

function over(
  result: FactId,
  { milliseconds, from }: FactOf<"tool-result" | "tool-failure" | "step-result" | "step-failure">,
) {
  return { result, ...defined({ ms: milliseconds, taken: from }) };
}
