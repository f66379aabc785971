import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../../../shared/data/swe-agent/trajectories/", import.meta.url));

/** Why the recorded runs are not there; undefined when they are. */
export const missing: string | undefined = existsSync(folder)
  ? undefined
  : "the recorded runs of SWE-agent are not here: they belong into ../shared/data/swe-agent/trajectories";

/** What a recorded run did, in one form for the three interfaces that the runs used. */
export type Action =
  | { readonly type: "create"; readonly path: string }
  | { readonly type: "open"; readonly path: string; readonly line?: number }
  | { readonly type: "find"; readonly name: string; readonly directory?: string }
  | { readonly type: "replace"; readonly search: string; readonly replace: string }
  | { readonly type: "insert"; readonly text: string }
  | { readonly type: "lines"; readonly from: number; readonly to: number; readonly text: string }
  | { readonly type: "command"; readonly command: string }
  | { readonly type: "submit" };

export type Step = { readonly action: Action; readonly observation: string };

export type Trajectory = {
  readonly steps: readonly Step[];
  /** The diff that the run handed in. */
  readonly submission: string;
  /** Where the repository was. */
  readonly root: string;
  /** Windows on the file after the run, which some recordings hold as well. */
  readonly edited: readonly string[];
};

type Message = {
  readonly content?: unknown;
  readonly tool_calls?:
    | readonly { readonly function: { readonly name: string; readonly arguments: string } }[]
    | null;
};

type Turn = { readonly action: string; readonly observation: string; readonly state: unknown };

export function readTrajectory(name: string): Trajectory {
  const {
    history,
    trajectory = [],
    info = {},
  } = JSON.parse(readFileSync(`${folder}${name}`, "utf8")) as {
    readonly history: readonly Message[];
    readonly trajectory?: readonly Turn[];
    readonly info?: { readonly [field: string]: unknown };
  };
  // The newer interfaces keep their calls in the history, the older one its commands beside it.
  const called = history.some(({ tool_calls }) => (tool_calls?.length ?? 0) > 0);
  const steps = called
    ? history.flatMap((message, at) => {
        const [call] = message.tool_calls ?? [];
        if (call === undefined) return [];
        const observation = withoutPrompt(plain(String(history[at + 1]?.content ?? "")));
        return [{ action: actionOf(call.function), observation }];
      })
    : trajectory.map(({ action, observation }) => ({
        action: textAction(action),
        observation: plain(observation),
      }));
  const prompts = history.map(({ content }) => /\(Current directory: (.*)\)/.exec(String(content))?.[1]);
  const submission = plain(String(info.submission ?? steps.at(-1)?.observation ?? ""));
  return {
    steps,
    // A demonstration of another run may stand at the beginning of the history.
    root: String(directoryOf(trajectory[0]?.state) ?? prompts.find((prompt) => prompt !== undefined)),
    submission: `${submission.replace(/^\n+/, "").replace(/\n+$/, "")}\n`,
    edited: ["edited_files30", "edited_files50", "edited_files70"].flatMap((field) =>
      typeof info[field] === "string" ? [plain(info[field])] : [],
    ),
  };
}

function directoryOf(state: unknown): unknown {
  const value = typeof state === "string" ? (JSON.parse(state) as unknown) : state;
  return (value as { readonly working_dir?: unknown } | null | undefined)?.working_dir;
}

/** The recording went through a terminal, which put carriage returns before line breaks. */
function plain(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll("\r", "");
}

function withoutPrompt(text: string): string {
  return text.replace(/\n?\(Open file: .*\)\n\(Current directory: .*\)\nbash-\$\s*$/, "");
}

function actionOf(call: { readonly name: string; readonly arguments: string }): Action {
  const given = JSON.parse(call.arguments) as { readonly [name: string]: string & number };
  const {
    path = "",
    filename = "",
    line_number,
    file_name = "",
    dir,
    search = "",
    replace = "",
    text = "",
    command = "",
  } = given;
  switch (call.name) {
    case "create":
      return { type: "create", path: filename };
    case "open":
      return { type: "open", path, ...(line_number !== undefined && { line: line_number }) };
    case "find_file":
      return { type: "find", name: file_name, ...(dir !== undefined && { directory: dir }) };
    case "edit":
      return { type: "replace", search, replace };
    case "insert":
      return { type: "insert", text };
    case "bash":
      return { type: "command", command };
    case "submit":
      return { type: "submit" };
    default:
      throw new Error(`unknown call ${call.name}`);
  }
}

/** The older interface: commands as text, edits by line numbers. */
function textAction(action: string): Action {
  const lines = /^edit (\d+):(\d+)\n(.*?)\n?end_of_edit\s*$/s.exec(action);
  if (lines !== null)
    return { type: "lines", from: Number(lines[1]), to: Number(lines[2]), text: lines[3] ?? "" };
  const words = action.trim().split(" ");
  const [word, first = "", second] = words.map((part) => part.replace(/^"(.*)"$/, "$1"));
  if (word === "create") return { type: "create", path: first };
  if (word === "open")
    return { type: "open", path: first, ...(second !== undefined && { line: Number(second) }) };
  if (word === "find_file")
    return { type: "find", name: first, ...(second !== undefined && { directory: second }) };
  if (word === "submit") return { type: "submit" };
  return { type: "command", command: action.trim() };
}
