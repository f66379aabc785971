import { type Json, jsonCopy } from "../../../session/index.js";
import type { ExportFormat, Subject } from "../exchange.js";
import type { Fields } from "../fields.js";
import { millisecondsOf, UNKNOWN_TIME } from "../intake.js";
import { Lines } from "../trajectory/line.js";
import type { Turn } from "../trajectory/turn.js";
import {
  errorText,
  instructionsOf,
  outcomeOf,
  textOf,
  thoughtsOf,
  turnsOf,
  wordsOf,
} from "../trajectory/turn.js";

/** A session as the trace viewer of the Hugging Face Hub shows it: a header, and a line for each message. */
export const hfTraceExport: ExportFormat = {
  name: "hf-trace",
  title: "Session trace for the Hugging Face Hub (STS format): the adopted line, a message in each line",
  extension: ".jsonl",
  async write(subject: Subject): Promise<string> {
    const lines = await Lines.of(subject);
    const { head, main } = lines;
    const header = {
      type: "session",
      harness: "openrath",
      id: head.id,
      ...(subject.name !== undefined && { name: subject.name }),
      branch: head.branch,
    };
    const instructions = instructionsOf(main);
    const system = instructions === undefined ? [] : [{ role: "system", content: instructions }];
    const messages = [...system, ...turnsOf(main, lines).flatMap(messagesOf)];
    return [header, ...messages.map((message) => ({ type: "message", message }))]
      .map((line) => `${JSON.stringify(line)}\n`)
      .join("");
  },
};

function messagesOf(turn: Turn): readonly Fields[] {
  if (turn.kind === "join") return [];
  const time = timeOf(turn.at);
  const content = turn.kind === "summary" ? textOf(turn.content) : wordsOf(turn.content);
  if (turn.role !== "assistant")
    return [{ role: turn.kind === "summary" ? "user" : turn.role, content, ...time }];
  const thoughts = thoughtsOf(turn.content);
  const model = turn.reply?.model ?? turn.asked?.model;
  const calls: readonly Json[] = turn.actions.map(({ call, name, input }) => ({
    id: call,
    function: { name, arguments: JSON.stringify(jsonCopy(input)) },
  }));
  const failed = turn.failure === undefined ? content : errorText(turn.failure.error);
  return [
    {
      role: "assistant",
      content: failed,
      ...(thoughts !== undefined && { reasoningContent: thoughts }),
      ...(calls.length > 0 && { toolCalls: calls }),
      ...time,
      ...(model !== undefined && { model }),
    },
    ...turn.actions.flatMap((action) => {
      const outcome = outcomeOf(action);
      if (outcome === undefined) return [];
      const { call: toolCallId, outcome: told } = action;
      return [{ role: "tool", content: outcome.text, toolCallId, ...timeOf(told?.fact.at) }];
    }),
  ];
}

function timeOf(at: string | undefined): Fields {
  if (at === undefined || at === UNKNOWN_TIME) return {};
  const timestamp = millisecondsOf(at);
  return Number.isNaN(timestamp) ? {} : { timestamp };
}
