import { OF_CLUSTER } from "./cluster-commands.js";
import { BY, type Commands, type Entry, entry, SESSION, WHY } from "./entry.js";
import { OF_EVIDENCE } from "./evidence-commands.js";

// Options that several commands have.
const EVENTS = { "--events": "prints every fact as a line of JSON, as soon as it is durable" };
const WITH = { "--with <file>": "runs this program instead of the one that the record names" };
const ID = { "--id <id>": "the request to answer, by the beginning of its id; needed when several wait" };
const DIGEST = {
  "--digest <digest>":
    "the digest that was shown, or its beginning; refused if the content has changed since",
};
const TIMES = "2026-11-16, 2026-11-16T09:30:00Z, 2h, 3d, yesterday, monday (UTC)";
const FILTER = {
  "--since <time>": `only facts since this time: ${TIMES}`,
  "--until <time>": "only facts before this time; a day counts to its end",
  "--by <who>": "only facts of this actor (user:ada) or of this kind of actor (user, agent, tool)",
  "--type <type>": { text: "only facts of this type", many: true },
};
const WIDE = { "--wide": "does not cut rows to the width of the terminal" };

const ROLES = ["view", "run", "approve", "audit", "erase"];

const COMMANDS: Commands = {
  Begin: {
    demo: {
      creates: true,
      summary:
        "agents repair a small repository: a patch is rejected, two repairs compete, the run is killed and resumed",
      options: {
        "--sandbox <kind>": { text: "where the tests run", choices: ["local", "host"] },
        "--scripted": "uses scripted models, even when the environment names a model",
      },
      examples: [
        "rath demo",
        "rath demo --json",
        "OPENAI_BASE_URL=http://localhost:11434/v1 RATH_MODEL=qwen3 rath demo   # the same with a real model",
      ],
      load: () => import("./command/demo.js"),
    },
  },
  Run: {
    run: {
      creates: true,
      summary: "runs the module that a file exports",
      arguments: { FILE: "an ES module, or FILE#NAME for an export other than the default" },
      options: {
        "-i, --input <text>": "the task, in words",
        "--input-file <file>": "reads the task from a file; - reads standard input",
        "--on <session>": "continues this session instead of starting a new one",
        "--name <name>": "the name of the session; default: the name of the file",
        "--by <who>": "the person it runs for, such as user:ada; default: the user of this machine",
        "--sandbox <kind>": "the sandbox for files and commands: local, virtual, docker, host",
        "--workspace <folder>":
          "a folder whose files the sandbox starts with; the folder itself is not changed",
        "--budget <limits>": "limits of the run: steps=20,tokens=50000,money=0.5,milliseconds=60000",
        ...EVENTS,
      },
      examples: [
        'rath run agent.mjs --input "How many pencils are left?"',
        "rath run order.mjs#order --name order-7   # exit code 4 when the run waits for a person",
        "rath run again.mjs --on second-try",
        "rath run coder.mjs --sandbox local --workspace ./repo --budget steps=40,money=1",
      ],
      load: () => import("./command/run.js"),
    },
    resume: {
      summary: "continues a run that crashed, waits, or was stopped; finished work is not repeated",
      arguments: { SESSION: SESSION },
      options: {
        ...WITH,
        "--retry": "repeats the failed step of a failed run, in a new run",
        "--name <name>": "the name of the new run, with --retry or after a stop; default: SESSION-again",
        ...EVENTS,
      },
      examples: ["rath resume order-7", "rath resume order-7 --retry --name order-7-again"],
      load: () => import("./command/resume.js"),
    },
    replay: {
      summary: "runs a program against its record; no model and no tool is called",
      arguments: { SESSION: SESSION },
      options: {
        ...WITH,
        "--mode <mode>": {
          text: "verify (default): the run must end in the same id; what-if: a program that differs continues on a branch",
          choices: ["verify", "what-if"],
        },
        "--at <id>": "replays the run that contains this fact; default: the newest run",
        "--until <step>": "stops at this fact: a step's number, an id, or ~3",
        "--from <step>": "a what-if that keeps the record up to this fact and runs the rest anew",
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
      summary: "lists what runs wait for: what was shown, who may answer, and the command that answers",
      arguments: { "[SESSION]": SESSION },
      examples: ["rath pending", "rath pending order-7 --json"],
      load: () => import("./command/pending.js"),
    },
    approve: {
      summary: "approves exactly what was shown",
      arguments: { SESSION: SESSION },
      options: {
        ...ID,
        ...DIGEST,
        "--edit <json>": "approves these arguments instead of the ones shown",
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
      summary: "rejects a request; the model can read the reason",
      arguments: { SESSION: SESSION },
      options: { ...ID, ...WHY, ...BY },
      examples: ['rath reject order-7 --why "too expensive"'],
      load: async () => ({ run: (await import("./answering.js")).reject }),
    },
    withdraw: {
      summary: "withdraws your own request; the run continues without it",
      arguments: { SESSION: SESSION },
      options: { ...ID, ...WHY, ...BY },
      examples: ['rath withdraw order-7 --by user:cy --why "never mind"'],
      load: async () => ({ run: (await import("./answering.js")).withdraw }),
    },
    approvals: {
      summary: "lists the standing approvals of one session or of all, or revokes one",
      arguments: { "[SESSION]": SESSION },
      options: {
        "--revoke <id>": "revokes the approval with this id (or its beginning); later calls ask again",
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
      summary: "answers a question or a signal, or settles an effect whose outcome is unknown",
      arguments: { SESSION: SESSION },
      options: {
        ...ID,
        "--value <json>": "the answer, as JSON",
        "--text <text>": "the answer, in words",
        "--settle <what>": {
          text: "settles an effect in doubt: it was done, it failed, or do it again",
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
  Serve: {
    serve: {
      creates: true,
      summary: "serves the store over HTTP, with live events, until Ctrl-C",
      options: {
        "--port <n>": "default 7284; 0 chooses a free port",
        "--host <address>": "the address to listen on; default 127.0.0.1, this machine only",
        "--modules <file>": "an ES module that exports the agents and workflows that can be run",
        "--allow-host <name>": {
          text: "a host name, with its port if any, that requests may use: rath.example.com",
          many: true,
        },
        "--allow-origin <origin>": {
          text: "an origin whose pages may call the server with a token: https://app.example.com",
          many: true,
        },
      },
      examples: [
        "rath serve",
        "rath serve --port 0 --json   # prints one line with the url, and a token if the store has no users",
        "rath serve --modules agents.mjs",
      ],
      load: () => import("./command/serve.js"),
    },
    studio: {
      creates: true,
      summary: "opens a live page over the store: graphs, conversations, files, questions, proofs",
      options: {
        "--port <n>": "default: a free port",
        "--modules <file>": "an ES module that exports the agents and workflows that can be run",
        "--bundle <file>": "writes the page for this dossier bundle as files that need no server",
        "-o, --output <folder>": "with --bundle: the folder for these files",
      },
      examples: [
        "rath studio",
        "rath studio --json   # prints one line with the url to open",
        "rath studio --modules agents.mjs",
        "rath studio --bundle dossier.json -o page   # open page/index.html",
      ],
      load: () => import("./command/studio.js"),
    },
    user: {
      creates: true,
      summary: "manages the people who may use a server of this store, and their tokens",
      arguments: {
        "[ACTION]": "add, list or revoke",
        "[NAME]": "a name; revoke also takes the id of a token",
      },
      options: {
        "--role <role>": {
          text: "what the person may do; each role includes view",
          choices: ROLES,
          many: true,
        },
        "--under <names>": "the sessions that the role covers: a name, or a prefix with *; default: all",
        "--expires <time>": "when the token expires: 30d, 12h, 4w, or a date; default: never",
      },
      examples: [
        "rath user add ada --role run --role view",
        "rath user add bob --role approve --under 'pay/*' --expires 30d",
        "rath user list",
        "rath user revoke bob",
      ],
      load: () => import("./command/user.js"),
    },
  },
  "Inspect, branch, merge": {
    list: {
      summary: "lists the sessions of this store",
      options: {
        "--all": "includes the sessions that the runtime keeps for itself",
        "--under <prefix>": "only names that begin with this prefix",
        "--since <time>": `only sessions with facts since this time, with their number: ${TIMES}`,
        "--limit <n>": "only the newest N sessions",
        ...WIDE,
        "--status <status>": {
          text: "only sessions with this status",
          choices: ["finished", "failed", "cancelled", "stopped", "waiting", "answered", "unended", "open"],
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
        "shows a session (task, outcome, branches, files, cost, newest messages), one fact in full, or a file",
      arguments: { SESSION: `${SESSION}; SESSION:PATH prints a file as it was there` },
      options: {
        "--fact": "shows the fact itself, also when SESSION is a name",
        "--messages <n>": "the number of messages to show; default 6",
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
      summary: "shows the history as a graph, newest first",
      arguments: { SESSION: SESSION },
      options: {
        "--all": "every fact, including the bookkeeping of the runtime",
        "-n, --number <n>": "at most N rows",
        ...FILTER,
        "-p, --patch":
          "adds the content of each fact: messages, input and output, and the patch of changed files",
        "--follow": "shows the newest rows, then new facts as they become durable, until Ctrl-C",
        ...WIDE,
        "--no-pager": "prints to the terminal without a pager",
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
      summary: "prints new facts of one session or of all, from any process, until Ctrl-C",
      arguments: { "[SESSION]": "a name" },
      options: {
        "--all": "every fact, including the bookkeeping of the runtime",
        "-n, --number <n>": "stops after N facts",
        ...FILTER,
        "-p, --patch": "adds the content of each fact",
        ...WIDE,
      },
      examples: [
        "rath watch",
        "rath watch order-7 -p",
        "rath watch --type approval-ask --json   # one JSON document per line",
      ],
      load: () => import("./command/watch.js"),
    },
    grep: {
      summary:
        "searches the full text of messages, tool input and output, memories and file paths; never finds erased content",
      arguments: {
        TEXT: "the text to find; upper and lower case match",
        "[SESSION...]": `${SESSION}; default: all`,
      },
      options: {
        "-E, --regexp": "TEXT is a regular expression; one that takes longer than two seconds is stopped",
        "-s, --case-sensitive": "distinguishes upper and lower case",
        ...FILTER,
        "--limit <n>": "at most N lines; default 1000",
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
      summary: "compares two sessions: shared and different facts, messages, files, checks and cost",
      arguments: { A: SESSION, B: "the session to compare with" },
      options: {
        "--files": "only the files, as a patch from A to B",
        "--stat": "only the names of changed files",
      },
      examples: ["rath diff demo-1 second-try", "rath diff demo-1@small demo-1@bold --files"],
      load: () => import("./command/diff.js"),
    },
    fork: {
      summary: "starts a branch at any point of a session",
      arguments: { SESSION: SESSION },
      options: {
        "--at <step>": "the point to fork at: a step's number (see rath log), an id, or ~3; default: the end",
        "--name <name>": "the name of the new session; default: SESSION-fork-1",
        "--branch <name>": "the name of the branch; default: the name of the new session",
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
      summary: "merges two sessions: conversation and files",
      arguments: { A: "our side: a session", B: "their side: a session" },
      options: {
        "--adopt <side>": {
          text: "the side whose conversation continues; none keeps both without preferring one; default: both",
          choices: ["ours", "theirs", "both", "none"],
        },
        "--resolve <side>": {
          text: "the side that wins where both changed the same file",
          choices: ["ours", "theirs"],
        },
        "--name <name>": "the name of the result; default: A, if A is a name",
        ...WHY,
        ...BY,
      },
      examples: ["rath merge demo-1 second-try --adopt theirs --why 'handles refunds'"],
      load: () => import("./command/merge.js"),
    },
    files: {
      summary: "lists the files of a session, prints one, or writes them to a folder",
      arguments: { SESSION: SESSION },
      options: {
        "--at <step>": "the files at this point: a step's number, an id, or ~3",
        "--to <folder>": "writes the files to this folder, which must be new or empty",
        "--cat <path>": "prints one file",
        "--patch": "prints the changes since the first files, as a patch",
      },
      examples: [
        "rath files demo-1",
        "rath files demo-1 --at 4 --to ./as-it-was",
        "rath files demo-1 --patch > fix.patch",
      ],
      load: () => import("./command/files.js"),
    },
    cost: {
      summary: "sums up calls, tokens, money and time of one session or of all",
      arguments: { "[SESSION]": SESSION },
      options: { "--by <what>": { text: "one row for each", choices: ["model", "agent", "branch", "tool"] } },
      examples: ["rath cost", "rath cost demo-1 --by agent"],
      load: () => import("./command/cost.js"),
    },
    memory: {
      summary: "lists, shows, searches, explains and revokes memories",
      arguments: {
        "[ACTION]": "list, show, search, why, influence or revoke",
        "[WHAT...]": "a space, the id of a memory, or words to search for",
      },
      options: {
        "--space <name>": "the memory space; default: the only one",
        "--at <id>": "the memory as it was at this fact",
        "--why <text>": "the reason for the revocation",
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
  Cluster: OF_CLUSTER,
  ...OF_EVIDENCE,
};

/** Every command, in the groups that help shows. */
export const groups: readonly { readonly title: string; readonly entries: readonly Entry[] }[] =
  Object.entries(COMMANDS).map(([title, given]) => ({
    title,
    entries: Object.entries(given).map(([name, one]) => entry(name, one)),
  }));
