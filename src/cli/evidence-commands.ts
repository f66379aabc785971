import { BY, type Commands, SESSION } from "./entry.js";

const PROFILES = ["eu-ai-act", "sysc-9.1", "21-cfr-11"];
const SIGN = { "--sign <name>": "the key to sign with; default: the only one" };
const OUTPUT = { "-o, --output <file>": "default: stdout" };
const LIST = { "--list": "lists the formats" };

/** The commands that show, prove, ask, and look after the store. */
export const OF_EVIDENCE: Commands = {
  "Show and prove": {
    dossier: {
      summary: "writes a report of a session: a page for people, and a bundle that proves it",
      arguments: { SESSION: SESSION },
      options: {
        "-o, --output <file>": "writes FILE.html and FILE.json; default: the name of the session",
        "--html-only": "writes only the page",
        "--bundle-only": "writes only the bundle",
        "--most <n>": "at most N items in each section of the page; default 300",
        "--characters <n>": "at most N characters of each text on the page; default 12000",
        "--memory": "adds the memory spaces to the bundle, with everything they held",
        "--sign <name>": "signs the bundle with this key",
      },
      examples: [
        "rath dossier demo-1 -o demo-1",
        "rath dossier demo-1 -o ./out/demo-1 --sign ada",
        "rath dossier demo-1 --html-only --most 1000",
      ],
      load: () => import("./command/dossier.js"),
    },
    verify: {
      summary:
        "checks a session, a file, or the whole store: every hash, blob, edge, signature and checkpoint",
      arguments: {
        "[SESSION|FILE]":
          "a session, a file of exported lines, or a dossier bundle; default: the whole store",
      },
      options: {
        "--head <id>": { text: "an id that must be the end of a history in the file", many: true },
        "--checkpoint <file>": {
          text: "a checkpoint kept elsewhere; the store must contain everything that it covers",
          many: true,
        },
        "--proof <file>": "a proof of inclusion for the id, or for the file with one line, given as argument",
        "--key <file>": { text: "a public key, as rath key show prints it", many: true },
        "--with <file>": "replays this program, which must end in the same id",
      },
      examples: [
        "rath verify demo-1",
        "rath verify  # the whole store",
        "rath verify demo-1.json --key ada.pub",
        "rath verify --proof demo-1.proof 1a2b3c…",
      ],
      load: () => import("./command/verify.js"),
    },
    key: {
      summary: "manages the keys that sign, and the keys that are trusted",
      arguments: {
        "[ACTION]": "new, list, show or trust",
        "[WHAT]": "a name; trust takes a file with a public key, or its text",
      },
      examples: [
        "rath key new ada",
        "rath key list",
        "rath key show ada > ada.pub",
        "rath key trust ada.pub",
      ],
      load: () => import("./command/key.js"),
    },
    sign: {
      summary: "signs a session and its whole history",
      arguments: { SESSION: SESSION },
      options: { ...SIGN, ...BY },
      examples: ["rath sign demo-1", "rath sign demo-1 --sign ada --by user:ada"],
      load: () => import("./command/sign.js"),
    },
    checkpoint: {
      summary: "signs the set of facts in the store, so that a later removal is detected",
      options: {
        ...SIGN,
        "-o, --output <file>": "also writes the checkpoint to this file, to be kept elsewhere",
        "--release <why>": "releases the facts that no name reaches, with this reason",
        ...BY,
      },
      examples: [
        "rath checkpoint",
        "rath checkpoint -o monday.checkpoint",
        "rath checkpoint --release 'a draft that nobody needs'",
      ],
      load: () => import("./command/checkpoint.js"),
    },
    prove: {
      summary:
        "writes a short proof that a fact is in the newest checkpoint; it can be checked without the store",
      arguments: { SESSION: SESSION },
      options: { ...OUTPUT, "--standard": "writes the C2SP tlog-proof format, which other tools read" },
      examples: ["rath prove demo-1 -o demo-1.proof", "rath verify --proof demo-1.proof 1a2b3c…"],
      load: () => import("./command/prove.js"),
    },
  },
  "Ask the record": {
    why: {
      summary: "answers a question from the record alone, and names the facts that prove each sentence",
      arguments: { "[SESSION]": SESSION },
      options: {
        "--message <id>": "which branch produced this message; default: the last answer",
        "--step <step>": "what happened at a step: its number (see rath log), an id, or ~3",
        "--memory": "with --step: which memory was read there, and why it was there",
        "--saw": "with --step: what the model saw there, rendered again and checked",
        "--file <path>": "which call changed a file, or a line of it: PATH:LINE",
        "--approvals": "who approved what, and what exactly they were shown",
        "--from <time>": "what happened since this time: 2026-11-16, 2026-11-16T09:30:00Z, 2h (ago)",
        "--to <time>": "what happened until this time",
        "--by <who>": "what this actor did, in SESSION or in all sessions: user:ada, agent:coder",
        "--if-false <memory>": "what would be lost if a memory were false",
        "--limit <n>": "the number of items to list one by one",
        "--all": "with --from or --to: includes the bookkeeping of the runtime",
      },
      examples: [
        "rath why demo-1                      # which branch produced its answer, and what was rejected",
        "rath why demo-1 --step 7             # what happened there, and who caused it",
        "rath why demo-1 --step 7 --memory    # which memory was read, and why it existed",
        "rath why demo-1 --step 7 --saw       # the prompt, checked against its digest",
        "rath why demo-1 --file src/price.ts:12",
        "rath why demo-1 --approvals",
        "rath why demo-1 --from 2h --to now",
        "rath why --by user:ada               # in all sessions",
        "rath why --if-false 1a2b3c4d         # a memory",
      ],
      load: () => import("./command/why.js"),
    },
    report: {
      summary: "maps the record to the duties of a law: one row for each duty, with its facts or its gap",
      arguments: { "[SESSION...]": `${SESSION}; default: all` },
      options: {
        "--profile <profile>": { text: "the law or standard; default: eu-ai-act", choices: PROFILES },
        "--biometric": "the system identifies people remotely, so Article 12(3) applies",
        "-o, --output <file>": "writes the report to this file: .md Markdown, .json JSON, otherwise text",
      },
      examples: [
        "rath report",
        "rath report demo-1 -o article-12.md",
        "rath report --profile sysc-9.1 --json",
      ],
      load: () => import("./command/report.js"),
    },
    erase: {
      summary:
        "finds content by or about a person and, with --yes, erases it; the record still verifies. Exit code 3 when some of it remains",
      arguments: { "[SESSION...]": `${SESSION}; default: all` },
      options: {
        "--about <text>": "content that contains this text: a name, an address, any words",
        "--by <who>": "all content of the facts of this actor: user:ada",
        "--digest <digest>": { text: "a blob by its digest, or by its first 8 digits", many: true },
        "--why <text>": "the reason; it stays in the record, so do not name a person in it",
        "--basis <text>": "the legal basis for erasing content that a retention floor still covers",
        "--as <who>": "the person who erases; default: the user of this machine",
        "--yes": "erases the content; this cannot be undone",
      },
      examples: [
        'rath erase --about "Ada Lovelace"            # shows what and where, in all sessions',
        'rath erase --about ada@example.com --yes --why "request of 3 May, reference 41"',
        "rath erase demo-1 --by user:ada",
        'rath erase demo-1 --digest 1a2b3c4d --yes --why "a key" --basis "contract, section 4"',
      ],
      load: () => import("./command/erase.js"),
    },
    retention: {
      summary: "shows or sets the retention floor: how long content must stay before it may be erased",
      arguments: {
        "[ACTION]": "set",
        "[DAYS]": "the number of days; default: the number that the profile requires; 0 removes the floor",
      },
      options: {
        "--basis <text>": "the law, contract or rule that requires it",
        "--profile <profile>": { text: "the law or standard that requires it", choices: PROFILES },
        "--as <who>": "the person who sets it; default: the user of this machine",
      },
      examples: [
        "rath retention",
        'rath retention set 184 --basis "AI Act, Article 19(1)"',
        'rath retention set --profile sysc-9.1 --basis "SYSC 9.1.2"',
      ],
      load: () => import("./command/retention.js"),
    },
  },
  "Import, export, maintain": {
    export: {
      summary: "exports sessions as lines of the record, or in a format of another system",
      arguments: { "[SESSION...]": SESSION },
      options: {
        ...OUTPUT,
        "--format <name>": "default: lines (docs/format.md); see rath export --list",
        "--content": "includes content in formats that leave it out by default (otel)",
        "--to <url>": "sends spans to an OTLP/HTTP receiver instead",
        "--no-blobs": "for lines: leaves out the content that is kept in blobs",
        ...LIST,
      },
      examples: [
        "rath export demo-1 -o demo-1.jsonl",
        "rath export demo-1 --format atif -o demo-1.json",
        "rath export demo-1 --format otel --to http://127.0.0.1:4318",
      ],
      load: () => import("./command/export.js"),
    },
    import: {
      creates: true,
      summary: "imports a record, a dossier bundle, a folder of version 0.1, or a trace of another system",
      arguments: {
        "[FILE...]": "a file, a folder of version 0.1, or postgres://… with LangGraph checkpoints",
      },
      options: {
        "--format <name>": "default: detected from the file; see rath import --list",
        "--index <name>":
          "links records and leaves them where they are: commits of a git folder, LangGraph checkpoints, Langfuse exports, logs",
        "--fields <list>": "with --index: the fields of a JSONL log: session=run_id,tool=tool,at=time",
        "--by <principal>":
          "with --index: the person who links the records; default: the user of this machine",
        "--name <name>": "the name of the session, or the prefix of the names when there are several",
        "--head <id>": "for lines: an id that must be among them",
        ...LIST,
      },
      examples: [
        "rath import demo-1.jsonl --name theirs",
        "rath import run.traj",
        "rath import trajectory.json --format atif",
        "rath import . --index repository",
        "rath import tools.jsonl --index tools --fields session=run_id,tool=tool,at=time",
      ],
      load: () => import("./command/import.js"),
    },
    gc: {
      summary: "removes the facts and blobs that no name reaches",
      options: {
        "--dry-run": "only lists what would be removed",
        "--forget <name>": { text: "removes this name first", many: true },
        "--release <why>": "signs a release of facts that a checkpoint covers, with this reason",
      },
      examples: ["rath gc --dry-run", "rath gc --forget second-try"],
      load: () => import("./command/gc.js"),
    },
    doctor: {
      summary: "checks the installation and the store, and says how to fix what is wrong",
      options: {
        "--deep": "reads every fact and blob of the store",
        "--recover <file>": "copies everything that is intact in a damaged store to a new one",
      },
      examples: ["rath doctor", "rath doctor --deep --json", "rath doctor --recover rescued.db"],
      load: () => import("./command/doctor.js"),
    },
    completion: {
      summary:
        "prints the script that completes commands, options and names in a shell (bash needs the package bash-completion)",
      arguments: { SHELL: "bash, zsh, fish or powershell" },
      examples: [
        'eval "$(rath completion bash)"',
        "rath completion fish > ~/.config/fish/completions/rath.fish",
      ],
      load: () => import("./command/completion.js"),
    },
  },
};
