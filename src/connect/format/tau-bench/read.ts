import type { Content, FactId, FactOf, Json, Part, Session } from "../../../session/index.js";
import { beginsLike, type Document, readDocument } from "../document.js";
import type { Imported, ImportFormat, Source } from "../exchange.js";
import { argumentsOf, Fields, isObject, isSame, type JsonObject, toolNamed } from "../fields.js";
import { keepRest, startImport } from "../intake.js";

const FORMAT = "tau-bench";
const AGENT = "agent:tau-bench";
/** A reward is a product of ones and zeros; what is written as 1.0 may come as 0.999999. */
const FULL = 1 - 1e-6;
const GATHERED = "the trials are gathered so that one session has them all";

/** Results of tau-bench: each task a session, each trial a branch, each reward a validation. */
export const tauBench: ImportFormat = {
  name: FORMAT,
  title: "tau-bench results (a JSON list of runs)",
  fits: (source) => beginsLike(source, /^\s*\[\s*\{/, /"traj"\s*:/, /"task_id"\s*:/),
  read: (source) => readDocument(FORMAT, source, (document) => read(source, document)),
};

type Run = {
  readonly where: string;
  readonly trial: number;
  readonly reward: number;
  readonly task: Json | undefined;
  readonly report: Json | undefined;
  readonly messages: readonly JsonObject[];
  readonly rest: Json | undefined;
};

function read(source: Source, document: Document): readonly Imported[] {
  const runs = document.json();
  if (!Array.isArray(runs) || runs.length === 0)
    throw document.refusal({ where: "", reason: "it is not a list of runs" });
  const tasks = new Map<Json, Run[]>();
  for (const [index, run] of (runs as readonly Json[]).entries()) {
    const [task, read] = runOf(run, `[${index}]`, document);
    const trials = tasks.get(task);
    if (trials === undefined) tasks.set(task, [read]);
    else trials.push(read);
  }
  return [...tasks].map(([task, trials]) => sessionOf(source, task, trials, document));
}

function runOf(value: Json, where: string, document: Document): readonly [task: number | string, run: Run] {
  const refuse = (place: string, reason: string) => document.refusal({ where: where + place, reason });
  if (!isObject(value)) throw refuse("", "a run is an object");
  const fields = new Fields(value);
  const id = fields.json("task_id");
  if (typeof id !== "number" && typeof id !== "string")
    throw refuse(".task_id", "a run says which task it is of");
  const trial = fields.number("trial") ?? 0;
  fields.keep("trial", trial);
  const reward = fields.number("reward");
  if (reward === undefined) throw refuse(".reward", "a run has a reward, a number");
  const messages = fields.list("traj");
  if (messages === undefined || !messages.every(isObject))
    throw refuse(".traj", "a run has its messages in a list");
  const info = new Fields(fields.object("info") ?? {});
  const [task, report] = [info.json("task"), info.json("reward_info")];
  fields.keep("info", info.rest);
  return [
    id,
    { where, trial, reward, task, report, messages: messages as readonly JsonObject[], rest: fields.rest },
  ];
}

function sessionOf(source: Source, task: Json, runs: readonly Run[], document: Document): Imported {
  const trials = [...runs].sort((one, other) => one.trial - other.trial);
  const [first] = trials as [Run, ...Run[]];
  const shared = trials.every((run) => isSame(run.task, first.task)) ? first.task : undefined;
  const name = `task-${task}`;
  let trunk = startImport(source, FORMAT, { name, detail: { task } });
  if (shared !== undefined)
    trunk = trunk.append({ type: "note", kind: "task", task: shared, at: trunk.fact.at });
  // The policy is the same in all trials: it belongs to the task.
  const [policy] = first.messages;
  const together = policy?.role === "system" && trials.every((run) => isSame(run.messages[0], policy));
  if (together) trunk = said(trunk, policy as JsonObject, first.where, document);
  const times = new Map<number, number>();
  const branches = trials.map((run) => {
    const before = times.get(run.trial) ?? 0;
    times.set(run.trial, before + 1);
    const again = before === 0 ? "" : before === 1 ? "-again" : `-again-${before}`;
    let session = trunk.fork(`trial-${run.trial}${again}`, { at: trunk.fact.at, by: "runtime" });
    if (shared === undefined && run.task !== undefined)
      session = session.append({ type: "note", kind: "task", task: run.task, at: trunk.fact.at });
    for (const [index, message] of run.messages.entries())
      if (index > 0 || !together) session = said(session, message, `${run.where}.traj[${index}]`, document);
    return judged(session, run);
  });
  const notes = trials.some((run) => run.report === undefined)
    ? ["A run without reward_info did not come to its end: its reward counts all the same."]
    : [];
  if (trials.some((run) => run.rest !== undefined))
    notes.push("What a run says beside its messages and its reward is kept in notes.");
  const [ours, ...others] = branches as [Session, ...Session[]];
  const at = trunk.fact.at;
  return {
    name,
    session:
      others.length === 0 ? ours : ours.merge(others, { adopt: "none", why: GATHERED, by: "runtime", at }),
    notes: [...document.notes, ...notes],
  };
}

function judged(session: Session, { reward, report, rest }: Run): Session {
  const at = session.fact.at;
  const next = rest === undefined ? session : keepRest(session, "what else the run says", rest);
  return next.append({
    type: "validation-report",
    name: "reward",
    passed: reward >= FULL,
    score: reward,
    detail: report ?? { ended: false },
    at,
    by: "runtime",
  });
}

/** A message of the chat format of OpenAI, as facts. */
function said(session: Session, message: JsonObject, where: string, document: Document): Session {
  const at = session.fact.at;
  const fields = new Fields(message);
  const role = fields.text("role");
  if (role === "tool") {
    const [call, name] = [fields.text("tool_call_id") ?? "", fields.text("name") ?? ""];
    const output = fields.json("content") ?? null;
    return rested(answered(session, call, name, output), fields.rest);
  }
  if (role !== "system" && role !== "user" && role !== "assistant")
    throw document.refusal({ where: `${where}.role`, reason: "nobody speaks in a message of this role" });
  const words = fields.json("content");
  const calls = (fields.list("tool_calls") ?? []).map((call, index) => {
    if (isObject(call)) return callOf(call);
    throw document.refusal({ where: `${where}.tool_calls[${index}]`, reason: "a call is an object" });
  });
  const texts: readonly Part[] = wordsOf(words);
  const content = calls.length === 0 && typeof words === "string" ? words : [...texts, ...calls];
  let next =
    role === "assistant" ? replied(session, content, calls.length > 0) : session.say(content, { role, at });
  for (const { call, name, input } of calls)
    next = next.append({ type: "tool-call", name, input, call, at, by: AGENT });
  return rested(next, fields.rest);
}

/** The agents of tau-bench say only what a model gave them: which model that was, and for how much, the file does not say. */
function replied(session: Session, content: Content, asks: boolean): Session {
  const at = session.fact.at;
  const asked = session.append({ type: "model-call", model: "unknown", agent: "tau-bench", at, by: AGENT });
  return asked.append({
    type: "model-reply",
    of: asked.id,
    content,
    finish: asks ? "tool-calls" : "stop",
    usage: { input: 0, output: 0 },
    agent: "tau-bench",
    meta: { [FORMAT]: { usage: "not told" } },
    at,
  });
}

function wordsOf(words: Json | undefined): readonly Part[] {
  if (words === undefined || words === null) return [];
  return typeof words === "string"
    ? words === ""
      ? []
      : [{ type: "text", text: words }]
    : [{ type: "other", value: words }];
}

function callOf(call: JsonObject): Extract<Part, { type: "tool-call" }> {
  const fields = new Fields(call);
  const asked = new Fields(fields.object("function") ?? {});
  const name = asked.text("name") ?? "";
  const text = asked.text("arguments");
  const { input, raw } = text === undefined ? { input: {} } : argumentsOf(text);
  asked.keep("arguments", raw);
  fields.keep("function", asked.rest);
  fields.drop("type", "function");
  const id = fields.text("id") ?? "";
  const { rest } = fields;
  return { type: "tool-call", call: id, name, input, ...(rest !== undefined && { meta: { openai: rest } }) };
}

/** The outcome of the call that it belongs to, or of one of its own where nobody asked. */
function answered(session: Session, call: string, name: string, output: Json): Session {
  const at = session.fact.at;
  const ofId = (asked: Asked) => asked.call === call;
  const ofName = (asked: Asked) => (call === "" || asked.call === "") && (name === "" || asked.name === name);
  const of = (call === "" ? undefined : openCall(session, ofId)) ?? openCall(session, ofName);
  if (of !== undefined) return session.append({ type: "tool-result", of, output, at, by: toolNamed(name) });
  const asked = session.append({ type: "tool-call", name, input: {}, call, at, by: AGENT });
  return asked.append({ type: "tool-result", of: asked.id, output, at, by: toolNamed(name) });
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

function rested(session: Session, rest: Json | undefined): Session {
  return rest === undefined ? session : keepRest(session, "what else the message says", rest);
}
