import { BY, type Commands, SESSION } from "./entry.js";

const PROFILES = ["eu-ai-act", "sysc-9.1", "21-cfr-11"];
const SIGN = { "--sign <name>": "the key to sign with; default: the only one" };
const OUTPUT = { "-o, --output <file>": "default: stdout" };
const LIST = { "--list": "the formats there are" };

/** The commands that show, prove, ask, and look after the store. */
export const OF_EVIDENCE: Commands = {
  "Show and prove": {
    dossier: {
      summary: "everything about a session in two files: a page for people, and the bundle that proves it",
      arguments: { SESSION: SESSION },
      options: {
        "-o, --output <file>": "writes FILE.html and FILE.json; default: the name of the session",
        "--html-only": "only the page",
        "--bundle-only": "only the bundle",
        "--most <n>": "at most so many items in each section of the page; default 300",
        "--characters <n>": "at most so many characters of one text of the page; default 12000",
        "--memory": "the bundle takes the memory spaces along, with everything that they held",
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
        "[SESSION|FILE]": "a session, exported lines, or the bundle of a dossier; left out: the whole store",
      },
      options: {
        "--head <id>": { text: "an id that must be at the end of the file", many: true },
        "--checkpoint <file>": {
          text: "a checkpoint from elsewhere that the store must go on from",
          many: true,
        },
        "--proof <file>": "a proof of inclusion; then give an id, or a file with one line",
        "--key <file>": { text: "a public key, as rath key show prints it", many: true },
        "--with <file>": "the program: it is replayed, and must end in the same id",
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
      summary: "the keys that sign, and those that are trusted",
      arguments: {
        "[ACTION]": "new, list, show or trust",
        "[WHAT]": "a name; to trust: a file with a public key, or its text",
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
      summary: "vouches for a session and its whole history",
      arguments: { SESSION: SESSION },
      options: { ...SIGN, ...BY },
      examples: ["rath sign demo-1", "rath sign demo-1 --sign ada --by user:ada"],
      load: () => import("./command/sign.js"),
    },
    checkpoint: {
      summary: "signs how many facts the store has and which: what is taken away later is then noticed",
      options: {
        ...SIGN,
        "-o, --output <file>": "also writes it there, to be kept elsewhere",
        "--release <why>": "gives up the facts that no name leads to, with a reason",
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
      summary: "writes a proof that a fact is in the newest checkpoint: short, and good without the store",
      arguments: { SESSION: SESSION },
      options: { ...OUTPUT, "--standard": "as C2SP's tlog-proof, which other tools read" },
      examples: ["rath prove demo-1 -o demo-1.proof", "rath verify --proof demo-1.proof 1a2b3c…"],
      load: () => import("./command/prove.js"),
    },
  },
  "Ask the record": {
    why: {
      summary: "answers a question from the record alone, each sentence with the facts that prove it",
      arguments: { "[SESSION]": SESSION },
      options: {
        "--message <id>": "which branch produced this message; default: the last answer",
        "--step <step>": "what happened at a step: its number (rath log shows them), an id, or ~3",
        "--memory": "with --step: which memory was read there, and why it was there",
        "--saw": "with --step: what the model saw there, rendered again and checked",
        "--file <path>": "which call changed a file, or a line of it: PATH:LINE",
        "--approvals": "who approved what, and what exactly they were shown",
        "--from <time>": "what happened from then on: 2026-11-16, 2026-11-16T09:30:00Z, 2h (ago)",
        "--to <time>": "and until then",
        "--by <who>": "what somebody did, in SESSION or in all sessions: user:ada, agent:coder",
        "--if-false <memory>": "what would be lost if a memory were false",
        "--limit <n>": "how many things are told one by one",
        "--all": "with --from or --to: also the bookkeeping of the runtime",
      },
      examples: [
        "rath why demo-1                      # which branch produced its answer, and what was rejected",
        "rath why demo-1 --step 7             # what happened there, and on whose word",
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
      summary: "maps the record to the duties of a law: a row for each, with the facts or the gap",
      arguments: { "[SESSION...]": `${SESSION}; default: all` },
      options: {
        "--profile <profile>": { text: "which law or standard; default: eu-ai-act", choices: PROFILES },
        "--biometric": "the system identifies people from a distance: Article 12(3) holds for it",
        "-o, --output <file>": "writes it there: .md Markdown, .json JSON, else text",
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
        "finds content of or about somebody and erases it; the chain still verifies. Only shows it without --yes. Exits with 3 when some of it remains",
      arguments: { "[SESSION...]": `${SESSION}; default: all` },
      options: {
        "--about <text>": "content that says this: a name, an address, any words",
        "--by <who>": "all content of somebody's facts: user:ada",
        "--digest <digest>": { text: "a blob by its digest, or the first 8 digits", many: true },
        "--why <text>": "why; it stays on the record, so name no person in it",
        "--basis <text>": "on which basis content goes that a retention floor still holds",
        "--as <who>": "who erases it; default: the user of this machine",
        "--yes": "erases it; there is no way back",
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
      summary: "how long content must stay before it may be erased: shows the floor, or sets it",
      arguments: {
        "[ACTION]": "set",
        "[DAYS]": "how many days; default: what the profile asks. 0 lifts the floor",
      },
      options: {
        "--basis <text>": "the law, contract or rule that wants it",
        "--profile <profile>": { text: "the law or standard that it is for", choices: PROFILES },
        "--as <who>": "who sets it; default: the user of this machine",
      },
      examples: [
        "rath retention",
        'rath retention set 184 --basis "AI Act, Article 19(1)"',
        'rath retention set --profile sysc-9.1 --basis "SYSC 9.1.2"',
      ],
      load: () => import("./command/retention.js"),
    },
  },
  "In, out, and looking after it": {
    export: {
      summary: "writes a session for others: lines of the record, or a format of another system",
      arguments: { "[SESSION...]": SESSION },
      options: {
        ...OUTPUT,
        "--format <name>": "default: lines (docs/format.md); see rath export --list",
        "--content": "formats that leave content out by default take it in (otel)",
        "--to <url>": "sends spans to an OTLP/HTTP receiver instead",
        "--no-blobs": "of lines: without the content that is kept outside of them",
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
      summary: "takes in a record, a dossier's bundle, a folder of 0.1, or what another system wrote",
      arguments: { "[FILE...]": "a file, a folder of 0.1, or postgres://… of LangGraph checkpoints" },
      options: {
        "--format <name>": "default: found out from the file; see rath import --list",
        "--name <name>": "the name of the session, or the prefix of the names when there are several",
        "--head <id>": "of lines: the id that must be among them",
        ...LIST,
      },
      examples: [
        "rath import demo-1.jsonl --name theirs",
        "rath import run.traj",
        "rath import trajectory.json --format atif",
      ],
      load: () => import("./command/import.js"),
    },
    gc: {
      summary: "removes what no name leads to",
      options: {
        "--dry-run": "only says what would go",
        "--forget <name>": { text: "takes a name away first", many: true },
        "--release <why>": "signs that facts of a checkpoint are given up, and why",
      },
      examples: ["rath gc --dry-run", "rath gc --forget second-try"],
      load: () => import("./command/gc.js"),
    },
    doctor: {
      summary: "whether everything that is needed is here and sound, and what to do where not",
      options: { "--deep": "also reads every fact and blob of the store" },
      examples: ["rath doctor", "rath doctor --deep --json"],
      load: () => import("./command/doctor.js"),
    },
    completion: {
      summary:
        "what a shell reads to complete commands, options and names (bash needs the package bash-completion)",
      arguments: { SHELL: "bash, zsh, fish or powershell" },
      examples: [
        'eval "$(rath completion bash)"',
        "rath completion fish > ~/.config/fish/completions/rath.fish",
      ],
      load: () => import("./command/completion.js"),
    },
  },
};
