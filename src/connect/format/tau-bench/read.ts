import type { Content, FactId, FactOf, Json, Part, Session } from "../../../session/index.js";
import type { Imported, ImportFormat } from "../exchange.js";
import { addTo, FieldReader, type Fields, isFields, isSame, toolNamed } from "../fields.js";
import { beginsLike, defineImport, type Foreign } from "../foreign.js";
import { Arrival, partsIn } from "../trajectory/arrival.js";

const FORMAT = "tau-bench";
const AGENT = "tau-bench";
/** A reward is a product of ones and zeros; 1.0 may come as 0.999999. */
const FULL = 1 - 1e-6;
const GATHERED = "the trials are gathered so that one session has them all";

/** Results of tau-bench: each task a session, each trial a branch, each reward a validation. */
export const tauBench: ImportFormat = defineImport({
  name: FORMAT,
  title: "tau-bench results (a JSON list of runs)",
  fits: (source) => beginsLike(source, /^\s*\[\s*\{/, /"traj"\s*:/, /"task_id"\s*:/),
  quoteUnsafe: true,
  read,
});

type Run = {
  readonly where: string;
  readonly trial: number;
  readonly reward: number;
  readonly task: Json | undefined;
  readonly report: Json | undefined;
  readonly messages: readonly Fields[];
  readonly rest: Json | undefined;
};

function read(foreign: Foreign): readonly Imported[] {
  const runs = foreign.list(foreign.json(), "", "it is not a list of runs");
  if (runs.length === 0) foreign.refuse("", "the list of runs is empty");
  const tasks = new Map<Json, Run[]>();
  for (const [index, value] of runs.entries()) {
    const [task, run] = runOf(value, `[${index}]`, foreign);
    addTo(tasks, task, run);
  }
  return [...tasks].map(([task, trials]) => sessionOf(task, trials, foreign));
}

function runOf(value: Json, where: string, foreign: Foreign): readonly [task: number | string, run: Run] {
  const fields = new FieldReader(foreign.object(value, where, "a run is an object"));
  const id = fields.json("task_id");
  if (typeof id !== "number" && typeof id !== "string")
    return foreign.refuse(`${where}.task_id`, "a run says which task it is of");
  const trial = fields.number("trial") ?? 0;
  fields.keep("trial", trial);
  const reward = fields.number("reward") ?? foreign.refuse(`${where}.reward`, "a run has a reward, a number");
  const messages = fields.list("traj");
  if (messages === undefined || !messages.every(isFields))
    return foreign.refuse(`${where}.traj`, "a run has its messages in a list");
  const info = fields.inside("info");
  const [task, report] = [info.json("task"), info.json("reward_info")];
  fields.keep("info", info.rest);
  return [id, { where, trial, reward, task, report, messages, rest: fields.rest }];
}

function sessionOf(task: Json, runs: readonly Run[], foreign: Foreign): Imported {
  const trials = [...runs].sort((one, other) => one.trial - other.trial);
  const [first] = trials as [Run, ...Run[]];
  const shared = trials.every((run) => isSame(run.task, first.task)) ? first.task : undefined;
  const name = `task-${task}`;
  const trunk = Arrival.start(foreign, { name, detail: { task } });
  trunk.rest("task", shared);
  // The policy is the same in all trials: it belongs to the task.
  const [policy] = first.messages;
  const together = policy?.role === "system" && trials.every((run) => isSame(run.messages[0], policy));
  if (together) tell(trunk, policy, first.where, foreign);
  const times = new Map<number, number>();
  const branches = trials.map((run) => {
    const before = times.get(run.trial) ?? 0;
    times.set(run.trial, before + 1);
    const again = before === 0 ? "" : before === 1 ? "-again" : `-again-${before}`;
    const branch = trunk.fork(trunk.session, `trial-${run.trial}${again}`);
    if (shared === undefined) branch.rest("task", run.task);
    for (const [index, message] of run.messages.entries())
      if (index > 0 || !together) tell(branch, message, `${run.where}.traj[${index}]`, foreign);
    judge(branch, run);
    return branch.session;
  });
  const notes = trials.some((run) => run.report === undefined)
    ? ["A run without reward_info did not come to its end: its reward counts all the same."]
    : [];
  if (trials.some((run) => run.rest !== undefined)) notes.push("Other fields of a run are kept in notes.");
  const [ours, ...others] = branches as [Session, ...Session[]];
  const { at } = trunk.session.fact;
  const session =
    others.length === 0 ? ours : ours.merge(others, { adopt: "none", why: GATHERED, by: "runtime", at });
  return foreign.imported(name, session, notes);
}

function judge(arrival: Arrival, { reward, report, rest }: Run): void {
  arrival.rest("what else the run says", rest);
  arrival.add({
    type: "validation-report",
    name: "reward",
    passed: reward >= FULL,
    score: reward,
    detail: report ?? { ended: false },
    by: "runtime",
  });
}

/** Tells a message of the chat format of OpenAI. */
function tell(arrival: Arrival, message: Fields, where: string, foreign: Foreign): void {
  const fields = new FieldReader(message);
  const role = fields.text("role");
  if (role === "tool") {
    const [call, name] = [fields.text("tool_call_id") ?? "", fields.text("name") ?? ""];
    answer(arrival, call, name, fields.json("content") ?? null);
    arrival.rest("what else the message says", fields.rest);
    return;
  }
  const speaker = role === "system" || role === "user" || role === "assistant" ? role : undefined;
  if (speaker === undefined) foreign.refuse(`${where}.role`, "nobody speaks in a message of this role");
  const words = fields.json("content");
  const calls = (fields.list("tool_calls") ?? []).map((call, index) =>
    callOf(foreign.object(call, `${where}.tool_calls[${index}]`, "a call is an object")),
  );
  const content = calls.length === 0 && typeof words === "string" ? words : [...wordsOf(words), ...calls];
  if (speaker === "assistant") reply(arrival, content, calls.length > 0);
  else arrival.say(speaker, content);
  for (const { call, name, input } of calls) arrival.call(name, input, call, AGENT);
  arrival.rest("what else the message says", fields.rest);
}

/** The agents of tau-bench say only what a model gave them: which model that was, and for how much, the file does not say. */
function reply(arrival: Arrival, content: Content, asks: boolean): void {
  arrival.answer("unknown", {
    content,
    finish: asks ? "tool-calls" : "stop",
    agent: AGENT,
    meta: { [FORMAT]: { usage: "not told" } },
  });
}

function wordsOf(words: Json | undefined): readonly Part[] {
  if (words === undefined || words === null) return [];
  return typeof words === "string" ? partsIn(words) : [{ type: "other", value: words }];
}

function callOf(call: Fields): Extract<Part, { type: "tool-call" }> {
  const fields = new FieldReader(call);
  const asked = fields.inside("function");
  const name = asked.text("name") ?? "";
  const input = asked.arguments();
  fields.keep("function", asked.rest);
  fields.drop("type", "function");
  const id = fields.text("id") ?? "";
  const { rest } = fields;
  return { type: "tool-call", call: id, name, input, ...(rest !== undefined && { meta: { openai: rest } }) };
}

/** The outcome of the call that it belongs to, or of one of its own where nobody asked. */
function answer(arrival: Arrival, call: string, name: string, output: Json): void {
  const ofId = (asked: Asked) => asked.call === call;
  const ofName = (asked: Asked) => (call === "" || asked.call === "") && (name === "" || asked.name === name);
  const { session } = arrival;
  const of =
    (call === "" ? undefined : openCall(session, ofId)) ??
    openCall(session, ofName) ??
    arrival.call(name, {}, call, AGENT);
  arrival.add({ type: "tool-result", of, output, by: toolNamed(name) });
}

type Asked = FactOf<"tool-call">;

/** The first such call without an outcome of the newest message that has one, since the user spoke. */
function openCall(session: Session, fits: (asked: Asked) => boolean): FactId | undefined {
  const done = new Set<FactId>();
  let found: FactId | undefined;
  for (let node: Session | undefined = session; node !== undefined; node = node.soleParent) {
    const { fact } = node;
    if (fact.type === "tool-result") done.add(fact.of);
    else if (fact.type === "tool-call" && !done.has(node.id) && fits(fact)) found = node.id;
    else if (fact.type === "model-reply" && found !== undefined) break;
    else if (fact.type === "message-say" && (found !== undefined || fact.role === "user")) break;
  }
  return found;
}
