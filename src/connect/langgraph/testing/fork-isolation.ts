import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { HumanMessage } from "@langchain/core/messages";
import {
  Annotation,
  type BaseCheckpointSaver,
  Command,
  DeltaChannel,
  END,
  interrupt,
  MessagesAnnotation,
  MessagesDeltaValue,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";

/** Something that a branch saw of another one, or did not see of its own. */
export type Leak = { readonly check: string; readonly expected: unknown; readonly found: unknown };
type Check = (check: string, expected: unknown, found: unknown) => void;
type Config = { configurable: { thread_id: string; checkpoint_id?: string } };

/** The kinds of channel that a conversation can be kept in. */
export type Kind = "reducer" | "delta";
export const CHANNELS: readonly Kind[] = ["reducer", "delta"];

/**
 * Whether branches of a thread keep apart, with any checkpointer of LangGraph: what was read at a checkpoint once is read
 * there for ever, and a branch has what it was made of. Answers with everything that is not so.
 */
export async function forkIsolation(
  saver: BaseCheckpointSaver,
  kind: Kind,
  some: readonly (keyof typeof cases)[] = Object.keys(cases) as (keyof typeof cases)[],
): Promise<readonly Leak[]> {
  const leaks: Leak[] = [];
  const check: Check = (name, expected, found) => {
    if (!isDeepStrictEqual(expected, found)) leaks.push({ check: name, expected, found });
  };
  for (const one of some) await cases[one](saver, kind, check);
  return leaks;
}

const cases = { updated, forkedTwice, ranAgain, answeredTwice, talked, copied };

/** Three nodes, each of which leaves its name; the second also says how often it ran. */
function chain(saver: BaseCheckpointSaver, kind: Kind) {
  let runs = 0;
  const State = Annotation.Root({ last: Annotation<string>(), log: logOf(kind) });
  return new StateGraph(State)
    .addNode("one", () => ({ last: "one", log: ["one"] }))
    .addNode("two", () => ({ last: "two", log: [`two-${++runs}`] }))
    .addNode("three", () => ({ last: "three", log: ["three"] }))
    .addEdge(START, "one")
    .addEdge("one", "two")
    .addEdge("two", "three")
    .addEdge("three", END)
    .compile({ checkpointer: saver });
}

function logOf(kind: Kind) {
  return kind === "delta"
    ? ((() =>
        new DeltaChannel<string[], string[]>((state, writes) => [
          ...state,
          ...writes.flat(),
        ])) as unknown as ReturnType<typeof Annotation<string[]>>)
    : Annotation<string[]>({ reducer: (state, more) => [...state, ...more], default: () => [] });
}

type Graph = ReturnType<typeof chain>;

/** What can be read at every checkpoint of a thread. */
async function everything(
  graph: Pick<Graph, "getStateHistory">,
  config: Config,
): Promise<Map<string, unknown>> {
  const states = new Map<string, unknown>();
  for await (const { config: at, values } of graph.getStateHistory(config))
    states.set(String(at.configurable?.checkpoint_id), JSON.parse(JSON.stringify(values)));
  return states;
}

/** That everything that could be read is read as it was. */
async function unchanged(
  graph: Pick<Graph, "getStateHistory">,
  config: Config,
  before: ReadonlyMap<string, unknown>,
  check: Check,
  when: string,
): Promise<void> {
  const after = await everything(graph, config);
  for (const [id, values] of before)
    check(`${when}: an earlier checkpoint reads as before`, values, after.get(id));
}

/** The checkpoint from which a node is next. */
async function beforeNode(
  graph: Pick<Graph, "getStateHistory">,
  config: Config,
  node: string,
): Promise<Config> {
  for await (const state of graph.getStateHistory(config))
    if (state.next.includes(node)) return state.config as Config;
  throw new Error(`no checkpoint before ${node}`);
}

function thread(): Config {
  return { configurable: { thread_id: randomUUID() } };
}

async function updated(saver: BaseCheckpointSaver, kind: Kind, check: Check): Promise<void> {
  const graph = chain(saver, kind);
  const config = thread();
  await graph.invoke({ log: ["in"] }, config);
  const head = (await graph.getState(config)).config as Config;
  const before = await everything(graph, config);
  const fork = (await graph.updateState(
    await beforeNode(graph, config, "two"),
    { last: "new", log: ["new"] },
    "one",
  )) as Config;
  const state = (await graph.getState(fork)).values as unknown;
  check(
    "an update at an earlier checkpoint: it has the update",
    { last: "new", log: ["in", "one", "new"] },
    state,
  );
  await unchanged(graph, config, before, check, "an update at an earlier checkpoint");
  const forked = await graph.invoke(null, fork);
  check(
    "the branch goes on: from its own values",
    { last: "three", log: ["in", "one", "new", "two-2", "three"] },
    forked,
  );
  await unchanged(graph, config, before, check, "the branch goes on");
  const both = await everything(graph, config);
  const old = await graph.invoke({ log: ["more"] }, head);
  check(
    "the first line goes on: from its own values",
    { last: "three", log: ["in", "one", "two-1", "three", "more", "one", "two-3", "three"] },
    old,
  );
  await unchanged(graph, config, both, check, "the first line goes on");
}

async function forkedTwice(saver: BaseCheckpointSaver, kind: Kind, check: Check): Promise<void> {
  const graph = chain(saver, kind);
  const config = thread();
  await graph.invoke({ log: ["in"] }, config);
  const at = await beforeNode(graph, config, "three");
  const ends: unknown[] = [];
  for (const name of ["a", "b"]) {
    const fork = (await graph.updateState(at, { last: name, log: [name] }, "two")) as Config;
    check(
      "two branches of one checkpoint: each has its own update",
      ["in", "one", "two-1", name],
      (await graph.getState(fork)).values.log,
    );
    ends.push((await graph.invoke(null, fork)).log);
  }
  check(
    "two branches of one checkpoint: each ends with its own",
    ["a", "b"].map((name) => ["in", "one", "two-1", name, "three"]),
    ends,
  );
}

async function ranAgain(saver: BaseCheckpointSaver, kind: Kind, check: Check): Promise<void> {
  const graph = chain(saver, kind);
  const config = thread();
  await graph.invoke({ log: ["in"] }, config);
  const before = await everything(graph, config);
  const again = await graph.invoke(null, await beforeNode(graph, config, "two"));
  check("run again from a checkpoint: the new results", ["in", "one", "two-2", "three"], again.log);
  check(
    "run again from a checkpoint: read back",
    ["in", "one", "two-2", "three"],
    (await graph.getState(config)).values.log,
  );
  await unchanged(graph, config, before, check, "run again from a checkpoint");
}

async function answeredTwice(saver: BaseCheckpointSaver, kind: Kind, check: Check): Promise<void> {
  const State = Annotation.Root({ answer: Annotation<string>(), log: logOf(kind) });
  const graph = new StateGraph(State)
    .addNode("ask", () => {
      const answer = interrupt<string, string>("go on?");
      return { answer, log: [answer] };
    })
    .addNode("done", () => ({ log: ["done"] }))
    .addEdge(START, "ask")
    .addEdge("ask", "done")
    .addEdge("done", END)
    .compile({ checkpointer: saver });
  const config = thread();
  await graph.invoke({ log: ["in"] }, config);
  const asked = (await graph.getState(config)).config as Config;
  const yes = await graph.invoke(new Command({ resume: "yes" }), config);
  check(
    "a question is answered",
    { answer: "yes", log: ["in", "yes", "done"] },
    { answer: yes.answer, log: yes.log },
  );
  const before = await everything(graph as unknown as Graph, config);
  const no = await graph.invoke(new Command({ resume: "no" }), asked);
  check(
    "a question is answered otherwise on a branch",
    { answer: "no", log: ["in", "no", "done"] },
    { answer: no.answer, log: no.log },
  );
  const now = (await graph.getState(config)).values;
  check(
    "a question is answered otherwise: read back",
    { answer: "no", log: ["in", "no", "done"] },
    { ...now },
  );
  // Where the question stands it may have been answered or not; what comes after must not change.
  before.delete(String(asked.configurable.checkpoint_id));
  await unchanged(graph as unknown as Graph, config, before, check, "a question is answered otherwise");
}

async function talked(saver: BaseCheckpointSaver, kind: Kind, check: Check): Promise<void> {
  const reply = (state: { messages: readonly { readonly text: string }[] }) => ({
    messages: [{ role: "assistant", content: `re: ${state.messages.at(-1)?.text}` }],
  });
  const graph = (kind === "delta"
    ? new StateGraph(new StateSchema({ messages: MessagesDeltaValue })).addNode("reply", reply as never)
    : new StateGraph(MessagesAnnotation).addNode("reply", reply as never)
  )
    .addEdge(START, "reply" as never)
    .addEdge("reply" as never, END)
    .compile({ checkpointer: saver }) as unknown as Graph;
  const config = thread();
  const say = (text: string, at: Config) => graph.invoke({ messages: [new HumanMessage(text)] } as never, at);
  const texts = (values: unknown) =>
    (values as { messages: { text: string }[] }).messages.map(({ text }) => text);
  await say("hello", config);
  const first = (await graph.getState(config)).config as Config;
  await say("left", config);
  const left = (await graph.getState(config)).config as Config;
  const fork = (await graph.updateState(
    first,
    { messages: [new HumanMessage("right")] } as never,
    "reply" as never,
  )) as Config;
  check(
    "a message at an earlier checkpoint",
    ["hello", "re: hello", "right"],
    texts((await graph.getState(fork)).values),
  );
  check(
    "the other branch does not hear it",
    ["hello", "re: hello", "left", "re: left"],
    texts((await graph.getState(left)).values),
  );
  await say("further", fork);
  const right = (await graph.getState(config)).config as Config;
  const on = await say("on", left);
  check(
    "both conversations go on: one",
    ["hello", "re: hello", "left", "re: left", "on", "re: on"],
    texts(on),
  );
  check(
    "both conversations go on: the other",
    ["hello", "re: hello", "right", "further", "re: further"],
    texts((await graph.getState(right)).values),
  );
}

async function copied(saver: BaseCheckpointSaver, kind: Kind, check: Check): Promise<void> {
  const graph = chain(saver, kind);
  const config = thread();
  await graph.invoke({ log: ["in"] }, config);
  const at = await beforeNode(graph, config, "three");
  const before = await everything(graph, config);
  const copy = (await graph.updateState(at, null as never, "__copy__" as never)) as Config;
  check(
    "a copy of a checkpoint reads the same",
    before.get(String(at.configurable.checkpoint_id)),
    JSON.parse(JSON.stringify((await graph.getState(copy)).values)),
  );
  await unchanged(graph, config, before, check, "a copy of a checkpoint");
}
