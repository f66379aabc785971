import { type FactId, RathError } from "../../session/index.js";

/** A program that is replayed asks something else than was recorded, and no model was asked to find out. */
export class RecordingDivergenceError extends RathError {
  constructor(
    reason: string,
    difference: {
      readonly call: FactId;
      readonly line: number;
      readonly asked: string;
      readonly recorded: string;
    } | null,
  ) {
    const shown =
      difference === null
        ? ""
        : `\n  recorded: ${brief(difference.recorded)}\n  now:      ${brief(difference.asked)}`;
    super("divergence", `This call does not go the way it was recorded: ${reason}.${shown}`, {
      hint: 'run the program that made this record with tools that answer as they did, or record anew: mode "record"',
      data: { reason, difference: difference },
    });
  }
}

/** A recorded call whose answer the record does not hold in the form that the AI SDK needs. */
export class ReplyUnavailableError extends RathError {
  constructor(call: FactId, reason: string, hint: string) {
    super("reply-unavailable", `Cannot answer call ${call.slice(0, 12)} from its record: ${reason}.`, {
      hint,
      data: { call, reason },
    });
  }
}

function brief(line: string): string {
  if (line === "") return "nothing";
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}
