import { type Json, jsonCopy } from "../../../session/index.js";
import { ExportError, type ExportFormat, type Subject } from "../exchange.js";
import { type Fields, isFields, listOf } from "../fields.js";
import { restored } from "../trajectory/kept.js";
import { Lines, type Told } from "../trajectory/line.js";
import { acceptedIn } from "../trajectory/patch.js";
import type { Action, Turn } from "../trajectory/turn.js";
import {
  errorText,
  instructionsOf,
  outcomeOf,
  textOf,
  thoughtsOf,
  turnsOf,
  wordsOf,
} from "../trajectory/turn.js";
import { NOTES } from "./read.js";

export const sweAgentExport: ExportFormat = {
  name: "swe-agent",
  title: "Trajectory of SWE-agent (.traj): the adopted line",
  extension: ".traj",
  async write(subject: Subject): Promise<string> {
    const lines = await Lines.of(subject);
    const found = runIn(lines.main);
    const told = turnsOf(found?.rest ?? lines.main, lines).flatMap((turn) => entriesOf(turn));
    if (found !== undefined) {
      const more = told.length === 0 ? found.run : continued(found.run, told);
      return `${JSON.stringify(more, null, 2)}\n`;
    }
    const instructions = instructionsOf(lines.main);
    const [agent, message_type] = ["main", "system_prompt"];
    const system =
      instructions === undefined ? [] : [{ role: "system", content: instructions, agent, message_type }];
    const run = {
      environment: lines.head.placement?.sandbox ?? "openrath",
      trajectory: told.flatMap(({ steps }) => steps),
      history: [...system, ...told.flatMap(({ history }) => history)],
      info: await infoOf(subject, lines),
    };
    return `${JSON.stringify(run, null, 2)}\n`;
  },
};

type Entries = { readonly history: readonly Fields[]; readonly steps: readonly Fields[] };

/** A turn as entries of the history, and as a step where something was done. */
function entriesOf(turn: Turn): readonly Entries[] {
  const words = turn.kind === "join" ? "" : textOf(wordsOf(turn.content));
  const agent = turn.reply?.agent ?? turn.asked?.agent ?? "main";
  if (turn.role !== "assistant") {
    if (turn.kind === "join") return [];
    const type = turn.role === "system" ? "system_prompt" : "observation";
    return [{ history: [{ role: turn.role, content: words, agent, message_type: type }], steps: [] }];
  }
  const thought = [thoughtsOf(turn.content), words]
    .filter((one) => one !== undefined && one !== "")
    .join("\n");
  const action = turn.actions.map(commandOf).join("\n");
  const calls = turn.actions.map(({ call, name, input }) => ({
    function: { arguments: JSON.stringify(jsonCopy(input)), name },
    id: call,
    type: "function",
  }));
  const outcomes = turn.actions.map((one) => outcomeOf(one)?.text ?? "");
  const answer = {
    role: "assistant",
    content: words,
    thought,
    action,
    agent,
    ...(calls.length > 0 && { tool_calls: calls }),
    message_type: "action",
  };
  const heard = turn.actions.map(({ call }, place) => ({
    role: "tool",
    content: outcomes[place] as string,
    agent,
    message_type: "observation",
    tool_call_ids: [call],
  }));
  const failed = turn.failure === undefined ? [] : [errorText(turn.failure.error)];
  const step = {
    action,
    observation: [...outcomes, ...failed].join("\n"),
    response: words,
    thought,
    execution_time: turn.actions.reduce((sum, one) => sum + millisecondsOf(one), 0) / 1000,
    state: {},
    extra_info: { openrath: turn.told.map(({ id }) => id) },
  };
  return [{ history: [answer, ...heard], steps: [step] }];
}

function millisecondsOf({ outcome }: Action): number {
  const { milliseconds } = (outcome?.fact ?? {}) as { milliseconds?: number };
  return milliseconds ?? 0;
}

/** A call as the line that one would type. */
function commandOf({ name, input }: Action): string {
  const value = jsonCopy(input);
  if (isFields(value) && typeof value.command === "string" && Object.keys(value).length === 1)
    return value.command;
  return `${name} ${JSON.stringify(value)}`;
}

async function infoOf(subject: Subject, { head, main }: Lines): Promise<Fields> {
  let submission: string | null = null;
  try {
    submission = (await acceptedIn("swe-agent", head, main, subject.store))?.patch ?? null;
  } catch (error) {
    // Without its files, the rest of the run is still written.
    if (!(error instanceof ExportError)) throw error;
  }
  const replies = main.flatMap(({ fact }) => (fact.type === "model-reply" ? [fact] : []));
  return {
    exit_status: submission === null ? null : "submitted",
    submission,
    model_stats: {
      // A sum without the replies that have no price would be too low.
      ...(replies.every(({ cost }) => cost !== undefined) && {
        instance_cost: replies.reduce((sum, { cost }) => sum + (cost ?? 0), 0),
      }),
      tokens_sent: replies.reduce((sum, { usage }) => sum + usage.input, 0),
      tokens_received: replies.reduce((sum, { usage }) => sum + usage.output, 0),
      api_calls: replies.length,
    },
    openrath: { id: head.id, ...(subject.name !== undefined && { name: subject.name }), branch: head.branch },
  };
}

/** The run that a line came from, as it was, and the facts after it. */
function runIn(line: readonly Told[]): { readonly run: Fields; readonly rest: readonly Told[] } | undefined {
  const kinds: ReadonlySet<unknown> = new Set(Object.values(NOTES));
  const last = line.findLastIndex(({ fact }) => fact.type === "note" && kinds.has(fact.what));
  let header: Fields | undefined;
  const [history, trajectory]: [Json[], Json[]] = [[], []];
  for (const { fact, session } of line.slice(0, last + 1)) {
    if (fact.type !== "note" || !kinds.has(fact.what)) continue;
    const value = restored(session, fact.value as Json) as { [key: string]: Json };
    if (fact.what === NOTES.run) header = value;
    else if (fact.what === NOTES.entry) history[value.index as number] = value.entry as Json;
    else trajectory[value.index as number] = value.step as Json;
  }
  if (header === undefined) return undefined;
  const { keys, rest } = header as { keys: readonly string[]; rest: Fields };
  const whole: Fields = { ...rest, history, trajectory };
  return {
    run: Object.fromEntries(keys.map((key) => [key, whole[key] as Json])),
    rest: line.slice(last + 1),
  };
}

function continued(run: Fields, told: readonly Entries[]): Fields {
  return {
    ...run,
    trajectory: [...listOf(run.trajectory), ...told.flatMap(({ steps }) => steps)],
    history: [...listOf(run.history), ...told.flatMap(({ history }) => history)],
  };
}
