import type { RathError } from "../session/index.js";
import { withHint } from "./error.js";
import { argument } from "./text.js";

/** The same error with a command to type, where its hint is a call to program. */
export function withCommand(error: RathError, reference: string | undefined): RathError {
  if (!isCall(error.hint)) return error;
  const command = COMMANDS[error.code]?.(reference === undefined ? "NAME" : argument(reference));
  return command === undefined ? error : withHint(error, command);
}

/** Whether a hint tells a programmer what to call. */
export function isCall(hint: string): boolean {
  return /\w\(/.test(hint);
}

/** The methods of the runtime that are commands. */
const SAME: ReadonlySet<string> = new Set(
  "pending approvals approve reject withdraw revoke resume".split(" "),
);

/** A hint with its calls of the runtime as commands on a session, if all of them are commands. */
export function callsAsCommands(hint: string, reference: string): string | undefined {
  const typed = hint.replaceAll(/(?:await )?rath\.(\w+)\((?:[^()]|\([^()]*\))*\)/g, (call, method: string) =>
    SAME.has(method) ? `rath ${method} ${argument(reference)}` : call,
  );
  return isCall(typed) ? undefined : typed;
}

const SALVAGE = "copy what is intact to a new store: rath doctor --recover OTHER.db";

const COMMANDS: { readonly [code: string]: (name: string) => string } = {
  "directory-not-empty": (name) => `give another folder: rath files ${name} --to OTHER`,
  "store-damaged": () => SALVAGE,
  "store-not-a-store": () => `check the path; if it was a store once, ${SALVAGE}`,
  "name-conflict": () =>
    "choose another name; if another process changed this one meanwhile, run the command again",
  "placement-mismatch": (name) => `choose a side: rath merge ${name} OTHER --adopt ours`,
  "beyond-horizon": (name) => `show a part of it: rath log ${name} -n 100`,
  "tape-ended": (name) => `continue from there: rath resume ${name}`,
  "verification-failed": (name) => `let it differ on a branch: rath replay ${name} --mode what-if`,
};
