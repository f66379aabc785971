import { type FactOf, type Json, type Session, transcriptView, type Usage } from "../../../session/index.js";
import { mapValues } from "../../../util/index.js";
import type { ExportFormat, Subject } from "../exchange.js";
import { addedUsage, type Fields, fieldsOf, isFields, listOf, without } from "../fields.js";
import { restored } from "../trajectory/kept.js";
import { Lines, type Told } from "../trajectory/line.js";
import { partsOf, textOf, wordsOf } from "../trajectory/turn.js";
import { Events, evalError, scoreFor, usageFor } from "./event.js";
import { contentFor, messageFor, numberOf } from "./message.js";
import { Prompts } from "./prompt.js";
import { NOTES } from "./sample.js";
import { writeZip } from "./zip.js";

export const inspectExport: ExportFormat = {
  name: "inspect",
  title: "Log of Inspect (EvalLog 2) with one sample, as JSON",
  extension: ".json",
  async write(subject: Subject): Promise<string> {
    const { log, sample } = await logOf(subject);
    return `${JSON.stringify({ ...log, samples: [sample] }, null, 2)}\n`;
  },
};

export const inspectEvalExport: ExportFormat = {
  name: "inspect-eval",
  title: "Log of Inspect (EvalLog 2) with one sample, as an .eval archive",
  extension: ".eval",
  async write(subject: Subject): Promise<Uint8Array> {
    const { log, sample } = await logOf(subject);
    const { version, eval: spec, plan, reductions, ...rest } = log as { [key: string]: Json };
    const bytes = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value, null, 2));
    const { id, epoch, input, target, scores, error, metadata } = sample as { [key: string]: Json };
    const summary = {
      id,
      epoch,
      input,
      target,
      ...(scores !== undefined && { scores }),
      metadata: metadata ?? {},
      ...(error !== undefined && { error }),
      completed: true,
    };
    const name = `samples/${String(id).replace(/[^\w.-]+/g, "_")}_epoch_${String(epoch)}.json`;
    return writeZip(
      new Map([
        ["_journal/start.json", bytes({ version, eval: spec, plan })],
        [name, bytes(sample)],
        ["_journal/summaries/1.json", bytes([summary])],
        ["summaries.json", bytes([summary])],
        ...(reductions === undefined ? [] : [["reductions.json", bytes(reductions)] as const]),
        ["header.json", bytes({ version, eval: spec, plan, ...rest })],
      ]),
    );
  },
};

type Log = { readonly log: Fields; readonly sample: Fields };

async function logOf(subject: Subject): Promise<Log> {
  const lines = await Lines.of(subject);
  const { head, main } = lines;
  const prompts = new Prompts(head.history());
  const found = logIn(main, head);
  const events = new Events(lines, prompts, main[0]?.fact.at ?? "");
  if (found !== undefined) {
    // The branches of an imported sample were told as its events.
    for (const { session } of main.slice(0, main.length - found.rest.length)) lines.sidesOf(session);
    if (found.rest.length === 0) return found;
    events.add(found.rest);
    return { log: found.log, sample: continued(found.sample, found.rest, events.list, prompts) };
  }
  begin(events, head, main);
  events.add(main);
  return { log: headerOf(subject, head, main), sample: sampleOf(subject, head, main, events.list, prompts) };
}

/** An imported sample and what happened since. */
function continued(
  sample: Fields,
  rest: readonly Told[],
  events: readonly Fields[],
  { attachments }: Prompts,
): Fields {
  const said = rest.flatMap(({ fact, id }) => {
    if (fact.type === "message-say") return [messageFor({ role: fact.role, content: fact.content }, id)];
    return fact.type === "model-reply" ? [messageFor({ role: "assistant", content: fact.content }, id)] : [];
  });
  return {
    ...sample,
    messages: [...listOf(sample.messages), ...said],
    attachments: { ...fieldsOf(sample.attachments), ...Object.fromEntries(attachments) },
    events: [...listOf(sample.events), ...events],
  };
}

function begin(events: Events, head: Session, main: readonly Told[]): void {
  const at = main[0]?.fact.at ?? "";
  const state = {
    messages: [],
    tools: [],
    tool_choice: null,
    store: {},
    output: { model: modelOf(head), choices: [], completion: "" },
    completed: false,
    metadata: {},
  };
  const sample = { input: inputOf(main), target: "", id: head.lineage[0]?.id ?? head.id };
  events.put(at, "sample_init", { sample, state });
}

function headerOf({ name }: Subject, head: Session, main: readonly Told[]): Fields {
  const root = head.lineage[0]?.id ?? head.id;
  const [started, completed] = [main[0]?.fact.at ?? "", main.at(-1)?.fact.at ?? ""];
  const model = modelOf(head);
  const reports = reportsIn(main);
  const usage = usageByModel(head);
  return {
    version: 2,
    status: main.some(({ fact }) => fact.type === "run-end" && fact.error !== undefined)
      ? "error"
      : "success",
    eval: {
      eval_id: head.id,
      run_id: root,
      created: started,
      task: name ?? "session",
      task_id: root,
      task_version: 0,
      task_attribs: {},
      task_args: {},
      task_args_passed: {},
      dataset: { name: name ?? "session", samples: 1, sample_ids: [root], shuffled: false },
      model,
      model_generate_config: {},
      model_args: {},
      config: {},
      packages: {},
      metadata: { openrath: { id: head.id, branch: head.branch, lineage: head.lineage } },
    },
    plan: { name: "plan", steps: [], config: {} },
    results: {
      total_samples: 1,
      completed_samples: 1,
      scores: [...reports.values()].map((fact) => ({
        name: fact.name,
        scorer: fact.name,
        params: {},
        metrics: { mean: { name: "mean", value: numberOf(fact.score ?? fact.passed) ?? 0, params: {} } },
      })),
    },
    stats: {
      started_at: started,
      completed_at: completed,
      model_usage: usage,
      role_usage: {},
      connection_limit_history: [],
    },
    invalidated: false,
    tags: [],
    metadata: {},
  };
}

function sampleOf(
  { name }: Subject,
  head: Session,
  main: readonly Told[],
  events: readonly Fields[],
  { attachments }: Prompts,
): Fields {
  const root = head.lineage[0]?.id ?? head.id;
  const reply = main.findLast(({ fact }) => fact.type === "model-reply");
  const { settled, open } = head.view(transcriptView);
  const failed = main.findLast(({ fact }) => fact.type === "run-end" && fact.error !== undefined)?.fact as
    | FactOf<"run-end">
    | undefined;
  const scores = mapValues(Object.fromEntries(reportsIn(main)), scoreFor);
  return {
    id: root,
    epoch: 1,
    input: inputOf(main),
    target: "",
    messages: [...settled, ...open].map(({ id, message }) => messageFor(message, id)),
    output: outputOf(reply, modelOf(head)),
    ...(Object.keys(scores).length > 0 && { scores }),
    metadata: { ...(name !== undefined && { name }) },
    store: {},
    model_usage: usageByModel(head),
    role_usage: {},
    started_at: main[0]?.fact.at ?? "",
    completed_at: main.at(-1)?.fact.at ?? "",
    uuid: head.id,
    ...(failed !== undefined && { error: evalError(failed.error) }),
    attachments: Object.fromEntries(attachments),
    events,
  };
}

function outputOf(told: Told | undefined, model: string): Fields {
  if (told === undefined) return { model, choices: [], completion: "" };
  const { content, usage, cost } = told.fact as FactOf<"model-reply">;
  const message = { id: told.id, content: contentFor(content), source: "generate", role: "assistant" };
  const stop = partsOf(content).some((part) => part.type === "tool-call") ? "tool_calls" : "stop";
  return {
    model,
    choices: [{ message, stop_reason: stop }],
    completion: wordsOf(content),
    usage: usageFor(usage, cost),
  };
}

/** The last report of each name is what counts. */
function reportsIn(main: readonly Told[]): ReadonlyMap<string, FactOf<"validation-report">> {
  const reports = main.flatMap(({ fact }) => (fact.type === "validation-report" ? [fact] : []));
  return new Map(reports.map((fact) => [fact.name, fact]));
}

function inputOf(main: readonly Told[]): string {
  for (const { fact } of main) {
    if (fact.type === "session-start" && fact.text !== undefined) return wordsOf(fact.text);
    if (fact.type === "message-say" && fact.role === "user") return wordsOf(fact.content);
  }
  return "";
}

function modelOf(head: Session): string {
  for (const { fact } of head.history()) if (fact.type === "model-call") return fact.model;
  return "none";
}

function usageByModel(head: Session): Fields {
  const models = new Map<string, string>();
  const totals = new Map<string, Required<Usage>>();
  for (const { id, fact } of head.history()) {
    if (fact.type === "model-call") models.set(id, fact.model);
    if (fact.type !== "model-reply") continue;
    const model = textOf(models.get(fact.of) ?? fact.model ?? "unknown");
    totals.set(model, addedUsage(totals.get(model), fact.usage));
  }
  return Object.fromEntries([...totals].map(([model, total]) => [model, usageFor(total)]));
}

/** The part of a session that came from a log: the log without samples, the sample, and the facts after it. */
export type Restored = { readonly log: Fields; readonly sample: Fields; readonly rest: readonly Told[] };

/** Reads the notes of an imported sample; undefined when the session is not from a log. */
export function logIn(line: readonly Told[], session: Session): Restored | undefined {
  let [log, sample]: (Fields | undefined)[] = [];
  const end = line.findLastIndex(({ fact }) => fact.type === "note" && fact.what === NOTES.sample);
  if (end === -1) return undefined;
  const events = new Map<number, Json>();
  for (const node of session.history()) {
    const { fact } = node;
    if (fact.type !== "note" || fact.kind !== "import-rest") continue;
    const value = (): Fields => restored(node, fact.value as Json) as Fields;
    if (fact.what === NOTES.log) log = value();
    else if (fact.what === NOTES.sample) sample = value();
    else if (fact.what === NOTES.event) {
      const { index, event } = value();
      events.set(index as number, event as Json);
    }
  }
  if (log === undefined || sample === undefined) return undefined;
  const ordered = [...events].sort(([one], [other]) => one - other).map(([, event]) => event);
  const { transcript } = sample;
  // Logs from before there were events have no place for them.
  const isOld = sample.attachments === undefined && ordered.length === 0;
  const whole = isFields(transcript)
    ? { ...without(sample, "transcript"), transcript: { ...transcript, events: ordered } }
    : { ...sample, ...(!isOld && { events: ordered }) };
  return { log, sample: whole, rest: line.slice(end + 1) };
}
