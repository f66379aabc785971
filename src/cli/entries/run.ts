import type { Entry } from "../entry.js";

const SESSION = {
  name: "SESSION",
  text: "a name, an id or its beginning, NAME~3 (three facts back), NAME@branch",
};
const WITH = { flags: "--with <file>", text: "another program than the one that the record names" };
const EVENTS = { flags: "--events", text: "every fact as a line of JSON, as soon as it is durable" };
const BY = { flags: "--by <who>", text: "who says it, as user:ada; default: the user of this machine" };
const DIGEST = {
  flags: "--digest <digest>",
  text: "the digest that was shown, or its beginning; refused if the content has changed since",
};
const ID = { flags: "--id <id>", text: "which request, by the beginning of its id, where there are several" };
const WHY = { flags: "--why <text>", text: "why" };

/** Running programs, and answering what they wait for. */
export const entries: readonly Entry[] = [
  {
    name: "run",
    creates: true,
    summary: "runs the module that a file exports",
    arguments: [{ name: "FILE", text: "an ES module, or FILE#export where it is not the default export" }],
    options: [
      { flags: "-i, --input <text>", text: "the task, in words" },
      { flags: "--input-file <file>", text: "the task from a file; - reads what is piped in" },
      { flags: "--on <session>", text: "goes on from there instead of beginning anew" },
      { flags: "--name <name>", text: "what the session is called; default: after the file" },
      { flags: "--by <who>", text: "on whose behalf, as user:ada; default: the user of this machine" },
      { flags: "--sandbox <kind>", text: "where side effects happen: local, virtual, docker, host" },
      {
        flags: "--workspace <folder>",
        text: "the files that the sandbox begins with; the folder is not touched",
      },
      {
        flags: "--budget <limits>",
        text: "what it may spend: steps=20,tokens=50000,money=0.5,milliseconds=60000",
      },
      EVENTS,
    ],
    examples: [
      'rath run agent.mjs --input "How many pencils are left?"',
      "rath run order.mjs#order --name order-7   # exits with 4 when it waits for a person",
      "rath run again.mjs --on second-try",
      "rath run coder.mjs --sandbox local --workspace ./repo --budget steps=40,money=1",
    ],
    load: () => import("../command/run.js"),
  },
  {
    name: "resume",
    summary: "goes on with a run that crashed, waits, or was stopped; finished work is not repeated",
    arguments: [SESSION],
    options: [
      WITH,
      { flags: "--retry", text: "of a run that failed: does again what made it fail, in a run of its own" },
      { flags: "--name <name>", text: "the name of that run; default: SESSION-again" },
      EVENTS,
    ],
    examples: ["rath resume order-7", "rath resume order-7 --retry --name order-7-again"],
    load: () => import("../command/resume.js"),
  },
  {
    name: "replay",
    summary: "runs a program again with its record as the world: no model and no tool is asked",
    arguments: [SESSION],
    options: [
      WITH,
      {
        flags: "--mode <mode>",
        text: "verify: it must end in the same id (the default); what-if: goes its own way where it differs",
        choices: ["verify", "what-if"],
      },
      { flags: "--at <id>", text: "the run that this fact is of, instead of the newest" },
      { flags: "--name <name>", text: "the name of a what-if; default: SESSION-what-if" },
      EVENTS,
    ],
    examples: ["rath replay demo-1", "rath replay demo-1 --mode what-if --with bolder.mjs --name demo-bold"],
    load: () => import("../command/replay.js"),
  },
  {
    name: "pending",
    summary: "what runs wait for, what was shown, who may answer, and what to type",
    arguments: [{ ...SESSION, optional: true }],
    examples: ["rath pending", "rath pending order-7 --json"],
    load: () => import("../command/pending.js"),
  },
  {
    name: "approve",
    summary: "agrees to exactly what was shown",
    arguments: [SESSION],
    options: [ID, DIGEST, { flags: "--edit <json>", text: "agrees to these arguments instead" }, WHY, BY],
    examples: [
      'rath approve order-7 --by user:ada --why "cheap"',
      `rath approve claim-3 --id 1a2b3c --edit '{"amount":100}'`,
    ],
    load: () => import("../command/approve.js"),
  },
  {
    name: "reject",
    summary: "says no, and why: the model can read it",
    arguments: [SESSION],
    options: [ID, WHY, BY],
    examples: ['rath reject order-7 --why "too expensive"'],
    load: () => import("../command/reject.js"),
  },
  {
    name: "revoke",
    summary: "revokes an approval that no run has used yet; it becomes a rejection",
    arguments: [SESSION],
    options: [ID, WHY, BY],
    examples: ['rath revoke order-7 --why "wrong account"'],
    load: () => import("../command/revoke.js"),
  },
  {
    name: "answer",
    summary: "answers a question or a signal; or says what became of something that nobody knows the end of",
    arguments: [SESSION],
    options: [
      ID,
      { flags: "--value <json>", text: "the answer, as JSON" },
      { flags: "--text <text>", text: "the answer, in words" },
      {
        flags: "--settle <what>",
        text: "of something in doubt: it was done, it failed, or do it again",
        choices: ["done", "failed", "again"],
      },
      DIGEST,
      WHY,
      BY,
    ],
    examples: [
      `rath answer claim-3 --value '{"condition":"fine"}'`,
      'rath answer chat-1 --text "The blue one."',
      "rath answer deploy --settle done --value null",
    ],
    load: () => import("../command/answer.js"),
  },
];
