import type { Entry } from "../entry.js";

const SESSION = "a name, an id or its beginning, NAME~3 (three facts back), NAME@branch";
const PROFILES = ["eu-ai-act", "sysc-9.1", "21-cfr-11"];

/** Asking the record, and what may leave it. */
export const entries: readonly Entry[] = [
  {
    name: "why",
    summary: "answers a question from the record alone, each sentence with the facts that prove it",
    arguments: [{ name: "SESSION", text: SESSION, optional: true }],
    options: [
      { flags: "--message <id>", text: "which branch produced this message; default: the last answer" },
      {
        flags: "--step <step>",
        text: "what happened at a step: its number (rath log shows them), an id, or ~3",
      },
      { flags: "--memory", text: "with --step: which memory was read there, and why it was there" },
      { flags: "--saw", text: "with --step: what the model saw there, rendered again and checked" },
      { flags: "--file <path>", text: "which call changed a file, or a line of it: PATH:LINE" },
      { flags: "--approvals", text: "who approved what, and what exactly they were shown" },
      {
        flags: "--from <time>",
        text: "what happened from then on: 2026-11-16, 2026-11-16T09:30:00Z, 2h (ago)",
      },
      { flags: "--to <time>", text: "and until then" },
      {
        flags: "--by <who>",
        text: "what somebody did, in SESSION or in all sessions: user:ada, agent:coder",
      },
      { flags: "--if-false <memory>", text: "what would be lost if a memory were false" },
      { flags: "--limit <n>", text: "how many things are told one by one" },
      { flags: "--all", text: "with --from or --to: also the bookkeeping of the runtime" },
    ],
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
    load: () => import("../command/why.js"),
  },
  {
    name: "report",
    summary: "maps the record to the duties of a law: a row for each, with the facts or the gap",
    arguments: [{ name: "SESSION", text: `${SESSION}; default: all`, optional: true, many: true }],
    options: [
      { flags: "--profile <profile>", text: "which law or standard; default: eu-ai-act", choices: PROFILES },
      {
        flags: "--biometric",
        text: "the system identifies people from a distance: Article 12(3) holds for it",
      },
      { flags: "-o, --output <file>", text: "writes it there: .md Markdown, .json JSON, else text" },
    ],
    examples: ["rath report", "rath report demo-1 -o article-12.md", "rath report --profile sysc-9.1 --json"],
    load: () => import("../command/report.js"),
  },
  {
    name: "erase",
    summary:
      "finds content of or about somebody and erases it; the chain still verifies. Only shows it without --yes. Exits with 3 when some of it remains",
    arguments: [{ name: "SESSION", text: `${SESSION}; default: all`, optional: true, many: true }],
    options: [
      { flags: "--about <text>", text: "content that says this: a name, an address, any words" },
      { flags: "--by <who>", text: "all content of somebody's facts: user:ada" },
      { flags: "--digest <digest>", text: "a blob by its digest, or the first 8 digits", many: true },
      { flags: "--why <text>", text: "why; it stays on the record, so name no person in it" },
      { flags: "--basis <text>", text: "on which basis content goes that a retention floor still holds" },
      { flags: "--as <who>", text: "who erases it; default: the user of this machine" },
      { flags: "--yes", text: "erases it; there is no way back" },
    ],
    examples: [
      'rath erase --about "Ada Lovelace"            # shows what and where, in all sessions',
      'rath erase --about ada@example.com --yes --why "request of 3 May, reference 41"',
      "rath erase demo-1 --by user:ada",
      'rath erase demo-1 --digest 1a2b3c4d --yes --why "a key" --basis "contract, section 4"',
    ],
    load: () => import("../command/erase.js"),
  },
  {
    name: "retention",
    summary: "how long content must stay before it may be erased: shows the floor, or sets it",
    arguments: [
      { name: "ACTION", text: "set", optional: true },
      {
        name: "DAYS",
        text: "how many days; default: what the profile asks. 0 lifts the floor",
        optional: true,
      },
    ],
    options: [
      { flags: "--basis <text>", text: "the law, contract or rule that wants it" },
      { flags: "--profile <profile>", text: "the law or standard that it is for", choices: PROFILES },
      { flags: "--as <who>", text: "who sets it; default: the user of this machine" },
    ],
    examples: [
      "rath retention",
      'rath retention set 184 --basis "AI Act, Article 19(1)"',
      'rath retention set --profile sysc-9.1 --basis "SYSC 9.1.2"',
    ],
    load: () => import("../command/retention.js"),
  },
];
