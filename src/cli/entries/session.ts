import type { Entry } from "../entry.js";

const SESSION = {
  name: "SESSION",
  text: "a name, an id or its beginning, NAME~3 (three facts back), NAME@branch",
};
const BY = {
  flags: "--by <who>",
  text: "who does it, as user:ada; default: the user of this machine",
};

/** Looking at sessions, branching them, bringing them together. */
export const entries: readonly Entry[] = [
  {
    name: "list",
    summary: "the sessions of this store",
    options: [
      { flags: "--all", text: "also those that the runtime keeps for itself" },
      { flags: "--under <prefix>", text: "only names that begin so" },
      {
        flags: "--status <status>",
        text: "only those",
        choices: ["finished", "failed", "cancelled", "waiting", "open"],
      },
    ],
    examples: ["rath list", "rath list --status waiting --json"],
    load: () => import("../command/list.js"),
  },
  {
    name: "show",
    summary: "a session: task, outcome, branches, files, cost, its newest messages; or one fact in full",
    arguments: [SESSION],
    options: [
      { flags: "--fact", text: "the fact itself, even if it was called by a name" },
      { flags: "--messages <n>", text: "how many messages of the conversation; default 6" },
    ],
    examples: ["rath show demo-1", "rath show 1a2b3c4d  # the fact of that id", "rath show demo-1~3"],
    load: () => import("../command/show.js"),
  },
  {
    name: "log",
    summary: "the history as a graph, newest first",
    arguments: [SESSION],
    options: [
      { flags: "--all", text: "every fact, also the bookkeeping of the runtime" },
      { flags: "-n, --number <n>", text: "at most so many rows" },
      { flags: "--type <type>", text: "only facts of this type", many: true },
      { flags: "--no-pager", text: "straight to the terminal" },
    ],
    examples: ["rath log demo-1", "rath log demo-1 --all -n 50", "rath log demo-1 --type tool-call --json"],
    load: () => import("../command/log.js"),
  },
  {
    name: "diff",
    summary:
      "what two sessions share, and what each has that the other has not: facts, words, files, checks, cost",
    arguments: [
      { name: "A", text: SESSION.text },
      { name: "B", text: "the other one" },
    ],
    options: [
      { flags: "--files", text: "only the files, as a patch from A to B" },
      { flags: "--stat", text: "of the files only their names" },
    ],
    examples: ["rath diff demo-1 second-try", "rath diff demo-1@small demo-1@bold --files"],
    load: () => import("../command/diff.js"),
  },
  {
    name: "fork",
    summary: "begins a branch at any point of a session",
    arguments: [SESSION],
    options: [
      {
        flags: "--at <step>",
        text: "where: a step's number (rath log shows them), an id, or ~3; default: its end",
      },
      { flags: "--name <name>", text: "what it is called; default: SESSION-fork-1" },
      { flags: "--branch <name>", text: "the name of the branch; default: as the session" },
      { flags: "--why <text>", text: "why" },
      BY,
    ],
    examples: ["rath fork demo-1 --at 7 --name second-try", "rath fork demo-1@bold --why 'try it in cents'"],
    load: () => import("../command/fork.js"),
  },
  {
    name: "merge",
    summary: "brings two sessions together, conversation and files",
    arguments: [
      { name: "A", text: "ours" },
      { name: "B", text: "theirs" },
    ],
    options: [
      {
        flags: "--adopt <side>",
        text: "the side whose conversation goes on, both, or none to gather the sides without preferring one; default: both",
        choices: ["ours", "theirs", "both", "none"],
      },
      {
        flags: "--resolve <side>",
        text: "whose files count where both changed the same",
        choices: ["ours", "theirs"],
      },
      { flags: "--name <name>", text: "what the result is called; default: A moves on, if it is a name" },
      { flags: "--why <text>", text: "why" },
      BY,
    ],
    examples: ["rath merge demo-1 second-try --adopt theirs --why 'handles refunds'"],
    load: () => import("../command/merge.js"),
  },
  {
    name: "files",
    summary: "the files of a session: lists them, prints one, or puts them into a folder",
    arguments: [SESSION],
    options: [
      { flags: "--at <step>", text: "as they were then: a step's number, an id, or ~3" },
      { flags: "--to <folder>", text: "puts them there; the folder must be new or empty" },
      { flags: "--cat <path>", text: "prints one file" },
      { flags: "--patch", text: "what changed since the first files, as a patch" },
    ],
    examples: [
      "rath files demo-1",
      "rath files demo-1 --at 4 --to ./as-it-was",
      "rath files demo-1 --patch > fix.patch",
    ],
    load: () => import("../command/files.js"),
  },
  {
    name: "cost",
    summary: "calls, tokens, money and time: of one session, or of all",
    arguments: [{ ...SESSION, optional: true }],
    options: [
      {
        flags: "--by <what>",
        text: "what a row is",
        choices: ["model", "agent", "branch", "tool"],
      },
    ],
    examples: ["rath cost", "rath cost demo-1 --by agent"],
    load: () => import("../command/cost.js"),
  },
  {
    name: "memory",
    summary: "what is remembered: list spaces, show, search, why, influence, revoke",
    arguments: [
      { name: "ACTION", text: "list, show, search, why, influence or revoke", optional: true },
      { name: "WHAT", text: "a space, a memory's id, or words to look for", optional: true, many: true },
    ],
    options: [
      { flags: "--space <name>", text: "which space; default: the only one" },
      { flags: "--at <id>", text: "as it was then" },
      { flags: "--why <text>", text: "why it is revoked" },
      BY,
    ],
    examples: [
      "rath memory",
      "rath memory show notes",
      "rath memory search rounding errors",
      "rath memory why 1a2b3c4d",
      "rath memory revoke 1a2b3c4d --why 'it was wrong'",
    ],
    load: () => import("../command/memory.js"),
  },
];
