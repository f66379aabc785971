import { BY, type Commands, type Entry, entry, SESSION, WHY } from "./entry.js";
import { OF_EVIDENCE } from "./evidence-commands.js";

// Options that several commands have.
const EVENTS = { "--events": "every fact as a line of JSON, as soon as it is durable" };
const WITH = { "--with <file>": "another program than the one that the record names" };
const ID = { "--id <id>": "which request, by the beginning of its id, where there are several" };
const DIGEST = {
  "--digest <digest>":
    "the digest that was shown, or its beginning; refused if the content has changed since",
};
const TIMES = "2026-11-16, 2026-11-16T09:30:00Z, 2h, 3d, yesterday, monday (UTC)";
const FILTER = {
  "--since <time>": `only facts from then on: ${TIMES}`,
  "--until <time>": "only facts before then; a day is included with all its hours",
  "--by <who>": "only facts of this actor: user:ada, or all of a kind: user, agent, tool",
  "--type <type>": { text: "only facts of this type", many: true },
};
const WIDE = { "--wide": "rows are not cut to the width of the terminal" };

const COMMANDS: Commands = {
  Begin: {
    demo: {
      creates: true,
      summary:
        "agents repair a small repository: a patch is rejected, two repairs compete, the run is killed and resumed",
      options: {
        "--sandbox <kind>": { text: "where the tests run", choices: ["local", "host"] },
        "--scripted": "asks no model, even where the environment names one",
      },
      examples: [
        "rath demo",
        "rath demo --json",
        "OPENAI_BASE_URL=http://localhost:11434/v1 RATH_MODEL=qwen3 rath demo   # the same with a model that answers",
      ],
      load: () => import("./command/demo.js"),
    },
  },
  Run: {
    run: {
      creates: true,
      summary: "runs the module that a file exports",
      arguments: { FILE: "an ES module, or FILE#export where it is not the default export" },
      options: {
        "-i, --input <text>": "the task, in words",
        "--input-file <file>": "the task from a file; - reads what is piped in",
        "--on <session>": "goes on from there instead of beginning anew",
        "--name <name>": "what the session is called; default: after the file",
        "--by <who>": "on whose behalf, as user:ada; default: the user of this machine",
        "--sandbox <kind>": "where side effects happen: local, virtual, docker, host",
        "--workspace <folder>": "the files that the sandbox begins with; the folder is not touched",
        "--budget <limits>": "what it may spend: steps=20,tokens=50000,money=0.5,milliseconds=60000",
        ...EVENTS,
      },
      examples: [
        'rath run agent.mjs --input "How many pencils are left?"',
        "rath run order.mjs#order --name order-7   # exits with 4 when it waits for a person",
        "rath run again.mjs --on second-try",
        "rath run coder.mjs --sandbox local --workspace ./repo --budget steps=40,money=1",
      ],
      load: () => import("./command/run.js"),
    },
    resume: {
      summary: "goes on with a run that crashed, waits, or was stopped; finished work is not repeated",
      arguments: { SESSION: SESSION },
      options: {
        ...WITH,
        "--retry": "of a run that failed: does again what made it fail, in a run of its own",
        "--name <name>": "the name of that run; default: SESSION-again",
        ...EVENTS,
      },
      examples: ["rath resume order-7", "rath resume order-7 --retry --name order-7-again"],
      load: () => import("./command/resume.js"),
    },
    replay: {
      summary: "runs a program again with its record as the world: no model and no tool is asked",
      arguments: { SESSION: SESSION },
      options: {
        ...WITH,
        "--mode <mode>": {
          text: "verify: it must end in the same id (the default); what-if: goes its own way where it differs",
          choices: ["verify", "what-if"],
        },
        "--at <id>": "the run that this fact is of, instead of the newest",
        "--until <step>": "ends at this fact: a step's number, an id, or ~3",
        "--from <step>": "a what-if: what came up to this fact is taken over, and the rest is done anew",
        "--name <name>": "the name of a what-if; default: SESSION-what-if",
        ...EVENTS,
      },
      examples: [
        "rath replay demo-1",
        "rath replay demo-1 --until 4",
        "rath replay demo-1 --mode what-if --with bolder.mjs --name demo-bold",
        "rath replay demo-1 --from 4 --name demo-again",
      ],
      load: () => import("./command/replay.js"),
    },
    pending: {
      summary: "what runs wait for, what was shown, who may answer, and what to type",
      arguments: { "[SESSION]": SESSION },
      examples: ["rath pending", "rath pending order-7 --json"],
      load: () => import("./command/pending.js"),
    },
    approve: {
      summary: "agrees to exactly what was shown",
      arguments: { SESSION: SESSION },
      options: {
        ...ID,
        ...DIGEST,
        "--edit <json>": "agrees to these arguments instead",
        "--always <what>": {
          text: "also covers later calls of this session: the same call, or every call of the tool",
          choices: ["arguments", "tool"],
        },
        ...WHY,
        ...BY,
      },
      examples: [
        'rath approve order-7 --by user:ada --why "cheap"',
        "rath approve order-7 --always arguments   # the same call is not asked about again",
        `rath approve claim-3 --id 1a2b3c --edit '{"amount":100}'`,
      ],
      load: async () => ({ run: (await import("./answering.js")).approve }),
    },
    reject: {
      summary: "says no, and why: the model can read it",
      arguments: { SESSION: SESSION },
      options: { ...ID, ...WHY, ...BY },
      examples: ['rath reject order-7 --why "too expensive"'],
      load: async () => ({ run: (await import("./answering.js")).reject }),
    },
    withdraw: {
      summary: "takes a request back, as its requester: the run goes on without it",
      arguments: { SESSION: SESSION },
      options: { ...ID, ...WHY, ...BY },
      examples: ['rath withdraw order-7 --by user:cy --why "never mind"'],
      load: async () => ({ run: (await import("./answering.js")).withdraw }),
    },
    approvals: {
      summary: "the standing approvals of a session, or of all sessions; revokes one",
      arguments: { "[SESSION]": SESSION },
      options: {
        "--revoke <id>": "revokes the one of this id, or its beginning: later calls ask again",
        ...WHY,
        ...BY,
      },
      examples: ["rath approvals", "rath approvals order-7 --revoke 1a2b3c4d --by user:ada"],
      load: () => import("./command/approvals.js"),
    },
    revoke: {
      summary: "revokes an approval that no run has used yet; it becomes a rejection",
      arguments: { SESSION: SESSION },
      options: { ...ID, ...WHY, ...BY },
      examples: ['rath revoke order-7 --why "wrong account"'],
      load: async () => ({ run: (await import("./answering.js")).revoke }),
    },
    answer: {
      summary:
        "answers a question or a signal; or says what became of something that nobody knows the end of",
      arguments: { SESSION: SESSION },
      options: {
        ...ID,
        "--value <json>": "the answer, as JSON",
        "--text <text>": "the answer, in words",
        "--settle <what>": {
          text: "of something in doubt: it was done, it failed, or do it again",
          choices: ["done", "failed", "again"],
        },
        ...DIGEST,
        ...WHY,
        ...BY,
      },
      examples: [
        `rath answer claim-3 --value '{"condition":"fine"}'`,
        'rath answer chat-1 --text "The blue one."',
        "rath answer deploy --settle done --value null",
      ],
      load: () => import("./command/answer.js"),
    },
  },
  "Look, branch, bring together": {
    list: {
      summary: "the sessions of this store",
      options: {
        "--all": "also those that the runtime keeps for itself",
        "--under <prefix>": "only names that begin so",
        "--since <time>": `only those with facts from then on, and how many: ${TIMES}`,
        "--limit <n>": "only the newest so many",
        ...WIDE,
        "--status <status>": {
          text: "only those",
          choices: ["finished", "failed", "cancelled", "waiting", "open"],
        },
      },
      examples: [
        "rath list",
        "rath list --since yesterday   # what changed since then",
        "rath list --status waiting --limit 20 --json",
      ],
      load: () => import("./command/list.js"),
    },
    show: {
      summary:
        "a session: task, outcome, branches, files, cost, its newest messages; or one fact in full; or a file",
      arguments: { SESSION: `${SESSION}; SESSION:PATH prints a file as it was there` },
      options: {
        "--fact": "the fact itself, even if it was called by a name",
        "--messages <n>": "how many messages of the conversation; default 6",
      },
      examples: [
        "rath show demo-1",
        "rath show 1a2b3c4d  # the fact of that id",
        "rath show demo-1~3",
        "rath show demo-1~3:src/price.ts  # the file, three facts back",
      ],
      load: () => import("./command/show.js"),
    },
    log: {
      summary: "the history as a graph, newest first",
      arguments: { SESSION: SESSION },
      options: {
        "--all": "every fact, also the bookkeeping of the runtime",
        "-n, --number <n>": "at most so many rows",
        ...FILTER,
        "-p, --patch": "also what each fact says: messages, input and output, and the patch of changed files",
        "--follow": "the newest rows, and then new facts as they become durable; Ctrl-C ends it",
        ...WIDE,
        "--no-pager": "straight to the terminal",
      },
      examples: [
        "rath log demo-1",
        "rath log demo-1 --all -n 50",
        "rath log demo-1 --since 2h --by user -p",
        "rath log demo-1 --type tool-call --json",
        "rath log order-7 --follow",
      ],
      load: () => import("./command/log.js"),
    },
    watch: {
      summary: "new facts of a name, or of all, as they become durable, by any process; Ctrl-C ends it",
      arguments: { "[SESSION]": "a name" },
      options: {
        "--all": "every fact, also the bookkeeping of the runtime",
        "-n, --number <n>": "ends after so many facts",
        ...FILTER,
        "-p, --patch": "also what each fact says",
        ...WIDE,
      },
      examples: [
        "rath watch",
        "rath watch order-7 -p",
        "rath watch --type approval-ask --json   # a document on each line",
      ],
      load: () => import("./command/watch.js"),
    },
    grep: {
      summary:
        "full text search: messages, input and output of tools, memories, file paths; erased content is never found",
      arguments: { TEXT: "the text, in any case", "[SESSION...]": `${SESSION}; default: all` },
      options: {
        "-E, --regexp": "TEXT is a regular expression; one that takes longer than two seconds is stopped",
        "-s, --case-sensitive": "upper and lower case differ",
        ...FILTER,
        "--limit <n>": "at most so many lines; default 1000",
        ...WIDE,
      },
      examples: [
        "rath grep refund",
        "rath grep 'order 130' order-7 --by user --since monday",
        "rath grep -E 'refund(ed)? [0-9]+' --type tool-result --limit 20 --json",
      ],
      load: () => import("./command/grep.js"),
    },
    diff: {
      summary:
        "what two sessions share, and what each has that the other has not: facts, words, files, checks, cost",
      arguments: { A: SESSION, B: "the other one" },
      options: {
        "--files": "only the files, as a patch from A to B",
        "--stat": "of the files only their names",
      },
      examples: ["rath diff demo-1 second-try", "rath diff demo-1@small demo-1@bold --files"],
      load: () => import("./command/diff.js"),
    },
    fork: {
      summary: "begins a branch at any point of a session",
      arguments: { SESSION: SESSION },
      options: {
        "--at <step>": "where: a step's number (rath log shows them), an id, or ~3; default: its end",
        "--name <name>": "what it is called; default: SESSION-fork-1",
        "--branch <name>": "the name of the branch; default: as the session",
        ...WHY,
        ...BY,
      },
      examples: [
        "rath fork demo-1 --at 7 --name second-try",
        "rath fork demo-1@bold --why 'try it in cents'",
      ],
      load: () => import("./command/fork.js"),
    },
    merge: {
      summary: "brings two sessions together, conversation and files",
      arguments: { A: "ours", B: "theirs" },
      options: {
        "--adopt <side>": {
          text: "the side whose conversation goes on, both, or none to gather the sides without preferring one; default: both",
          choices: ["ours", "theirs", "both", "none"],
        },
        "--resolve <side>": {
          text: "whose files count where both changed the same",
          choices: ["ours", "theirs"],
        },
        "--name <name>": "what the result is called; default: A moves on, if it is a name",
        ...WHY,
        ...BY,
      },
      examples: ["rath merge demo-1 second-try --adopt theirs --why 'handles refunds'"],
      load: () => import("./command/merge.js"),
    },
    files: {
      summary: "the files of a session: lists them, prints one, or puts them into a folder",
      arguments: { SESSION: SESSION },
      options: {
        "--at <step>": "as they were then: a step's number, an id, or ~3",
        "--to <folder>": "puts them there; the folder must be new or empty",
        "--cat <path>": "prints one file",
        "--patch": "what changed since the first files, as a patch",
      },
      examples: [
        "rath files demo-1",
        "rath files demo-1 --at 4 --to ./as-it-was",
        "rath files demo-1 --patch > fix.patch",
      ],
      load: () => import("./command/files.js"),
    },
    cost: {
      summary: "calls, tokens, money and time: of one session, or of all",
      arguments: { "[SESSION]": SESSION },
      options: { "--by <what>": { text: "what a row is", choices: ["model", "agent", "branch", "tool"] } },
      examples: ["rath cost", "rath cost demo-1 --by agent"],
      load: () => import("./command/cost.js"),
    },
    memory: {
      summary: "what is remembered: list spaces, show, search, why, influence, revoke",
      arguments: {
        "[ACTION]": "list, show, search, why, influence or revoke",
        "[WHAT...]": "a space, a memory's id, or words to look for",
      },
      options: {
        "--space <name>": "which space; default: the only one",
        "--at <id>": "as it was then",
        "--why <text>": "why it is revoked",
        ...BY,
      },
      examples: [
        "rath memory",
        "rath memory show notes",
        "rath memory search rounding errors",
        "rath memory why 1a2b3c4d",
        "rath memory revoke 1a2b3c4d --why 'it was wrong'",
      ],
      load: () => import("./command/memory.js"),
    },
  },
  ...OF_EVIDENCE,
};

/** Every command, in the groups that help shows. */
export const groups: readonly { readonly title: string; readonly entries: readonly Entry[] }[] =
  Object.entries(COMMANDS).map(([title, given]) => ({
    title,
    entries: Object.entries(given).map(([name, one]) => entry(name, one)),
  }));
