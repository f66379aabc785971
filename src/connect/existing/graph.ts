import { type FactId, type FactInput, isPrincipal, type Json, Session } from "../../session/index.js";
import { defined } from "../../util/index.js";
import type { LinkPlace } from "./chain.js";
import { isSame, type LinkRow, linkFactOf, linking } from "./links.js";
import type { ExistingRecord } from "./source.js";

const GATHERED = "the lines of the source are gathered so that one session has them all";
/** Lines that one fact gathers. */
const GATHER = 50;

/** The records of a trace as a graph of sessions with links to their content, under one name. Saved last. */
export class Graph {
  readonly #at: LinkPlace;
  readonly #root: Session;
  readonly #saved: FactId | null;
  /** The session that continues the line of a record. Sessions linked earlier are loaded when needed. */
  readonly #nodes = new Map<string, Session | FactId>();
  /** The newest record of each session. */
  readonly #last = new Map<string, string>();
  /** Records that something comes after: what comes next is a branch. */
  readonly #parents = new Set<string>();
  /** Records of now that nothing comes after. */
  readonly #ends = new Set<string>();
  /** The report on the whole import. */
  readonly #said: FactInput[] = [];

  private constructor(at: LinkPlace, root: Session, saved: FactId | null) {
    this.#at = at;
    this.#root = root;
    this.#saved = saved;
  }

  static async open(at: LinkPlace): Promise<Graph> {
    const { store, name, origin, by } = at;
    const head = await store.head(name);
    if (head === undefined) return new Graph(at, Session.start(undefined, { by }), null);
    const graph = new Graph(at, await store.load(head), head);
    const keys = new Map<FactId, string>();
    for await (const { id, parents, fact } of store.history(name)) {
      for (const parent of parents) {
        const key = keys.get(parent);
        if (key !== undefined && fact.type !== "branch-merge") graph.#parents.add(key);
      }
      const link = linkFactOf(id, fact);
      if (link === undefined || !("links" in link) || !isSame(link.origin, origin)) continue;
      const [row] = link.links;
      // A record that changed later stays where it stood.
      if (row === undefined || row.was !== undefined || row.gone === true) continue;
      graph.#nodes.set(row.key, id);
      graph.#last.set(row.session, row.key);
      keys.set(id, row.key);
    }
    return graph;
  }

  async add(row: LinkRow, { parents, does }: ExistingRecord): Promise<void> {
    const last = this.#last.get(row.session);
    const from = (parents ?? (last === undefined ? [] : [last])).filter((key) => this.#nodes.has(key));
    let session = await this.#after(from, row);
    for (const fact of factsOf(row, does, this.#at.origin.source)) {
      session = session.append(typeof fact === "function" ? fact(session.id) : fact);
    }
    session = session.append(linking(this.#at.origin, [row], this.#at.by));
    this.#nodes.set(row.key, session);
    this.#last.set(row.session, row.key);
    for (const key of from) {
      this.#parents.add(key);
      this.#ends.delete(key);
    }
    this.#ends.add(row.key);
  }

  /** Says of a record that was linked that it is another now, or gone. */
  async link(row: LinkRow): Promise<void> {
    this.#said.push(linking(this.#at.origin, [row], this.#at.by));
  }

  async append(fact: FactInput): Promise<void> {
    this.#said.push(fact);
  }

  async close(): Promise<FactId> {
    const { store, name, by } = this.#at;
    const ends = await Promise.all([...this.#ends].map((key) => this.#node(key)));
    const lines = this.#saved === null && ends.length > 0 ? ends : [this.#root, ...ends];
    while (lines.length > 1) {
      const [first, ...others] = lines.splice(0, GATHER) as [Session, ...Session[]];
      // The only session without a successor is the present state.
      const adopt = this.#saved !== null && ends.length === 1 ? "theirs" : "none";
      lines.unshift(first.merge(others, { adopt, why: GATHERED, by }));
    }
    const session = this.#said.reduce((at, fact) => at.append(fact), lines[0] as Session);
    if (session.id === this.#saved) return session.id;
    return (await store.save(session, { name, expect: this.#saved })).id;
  }

  /** The session that a record continues: that of its one parent, a merge of its parents, or the beginning. */
  async #after([first, ...others]: readonly string[], { session }: LinkRow): Promise<Session> {
    const { by } = this.#at;
    if (first === undefined) return this.#beginning().fork(session, { by });
    const node = await this.#node(first);
    if (others.length > 0)
      return node.merge(await Promise.all(others.map((key) => this.#node(key))), { adopt: "both", by });
    return this.#parents.has(first) ? node.fork(session, { by }) : node;
  }

  #beginning(): Session {
    let session = this.#root;
    for (let before = session.parents[0]; before !== undefined; before = session.parents[0]) session = before;
    return session;
  }

  async #node(key: string): Promise<Session> {
    const node = this.#nodes.get(key);
    if (typeof node !== "string") return node as Session;
    const session = await this.#at.store.load(node);
    this.#nodes.set(key, session);
    return session;
  }
}

type Answered = FactInput | ((of: FactId) => FactInput);

/** The actions of a record as facts. Its content stays where it is: the facts say where. */
function factsOf(row: LinkRow, does: ExistingRecord["does"], source: string): readonly Answered[] {
  if (does === undefined) return [];
  const { key, digest, at, role, text } = row;
  const where: Json = { existing: { source, key, digest } };
  const words = text ?? `[${source}, ${key}]`;
  const by = does.by === undefined || !isPrincipal(does.by) ? {} : { by: does.by };
  const stamp = defined({ at });
  if (does.kind === "message") {
    const speaker = role === "assistant" || role === "system" ? role : "user";
    return [{ type: "message-say", role: speaker, content: words, ...by, ...stamp }];
  }
  const failed =
    (type: "model-failure" | "tool-failure" | "step-failure") =>
    (of: FactId): FactInput =>
      ({ type, of, error: { name: "Error", message: does.error ?? "" }, ...stamp }) as FactInput;
  if (does.kind === "model") {
    const { name, usage = { input: 0, output: 0 }, cost } = does;
    return [
      { type: "model-call", model: name, ...by, ...stamp },
      does.error !== undefined
        ? failed("model-failure")
        : (of) => ({
            type: "model-reply",
            of,
            content: words,
            finish: "stop",
            usage,
            ...defined({ cost }),
            ...stamp,
          }),
    ];
  }
  const { kind, name, about } = does;
  const input = about === undefined ? where : ({ ...Object(where), about } as Json);
  return [
    { type: `${kind}-call`, name, input, ...by, ...stamp } as FactInput,
    does.error !== undefined
      ? failed(`${kind}-failure`)
      : (of) =>
          ({
            type: `${kind}-result`,
            of,
            [kind === "tool" ? "output" : "value"]: where,
            ...stamp,
          }) as FactInput,
  ];
}
