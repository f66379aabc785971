import type { Entry } from "../entry.js";

const SESSION = { name: "SESSION", text: "a name, an id or its beginning, NAME~3, NAME@branch" };
const SIGN = { flags: "--sign <name>", text: "the key to sign with; default: the only one" };
const KEY = { flags: "--key <file>", text: "a public key, as rath key show prints it", many: true };
const BY = { flags: "--by <who>", text: "who does it, as user:ada; default: the user of this machine" };

/** Showing that nothing was changed, and being able to show it later. */
export const entries: readonly Entry[] = [
  {
    name: "verify",
    summary: "checks a session, a file, or the whole store: every hash, blob, edge, signature and checkpoint",
    arguments: [
      {
        name: "SESSION|FILE",
        text: "a session, exported lines, or the bundle of a dossier; left out: the whole store",
        optional: true,
      },
    ],
    options: [
      { flags: "--head <id>", text: "an id that must be at the end of the file", many: true },
      {
        flags: "--checkpoint <file>",
        text: "a checkpoint from elsewhere that the store must go on from",
        many: true,
      },
      { flags: "--proof <file>", text: "a proof of inclusion; then give an id, or a file with one line" },
      KEY,
      { flags: "--with <file>", text: "the program: it is replayed, and must end in the same id" },
    ],
    examples: [
      "rath verify demo-1",
      "rath verify  # the whole store",
      "rath verify demo-1.json --key ada.pub",
      "rath verify --proof demo-1.proof 1a2b3c…",
    ],
    load: () => import("../command/verify.js"),
  },
  {
    name: "key",
    summary: "the keys that sign, and those that are trusted",
    arguments: [
      { name: "ACTION", text: "new, list, show or trust", optional: true },
      { name: "WHAT", text: "a name; to trust: a file with a public key, or its text", optional: true },
    ],
    examples: ["rath key new ada", "rath key list", "rath key show ada > ada.pub", "rath key trust ada.pub"],
    load: () => import("../command/key.js"),
  },
  {
    name: "sign",
    summary: "vouches for a session and its whole history",
    arguments: [SESSION],
    options: [SIGN, BY],
    examples: ["rath sign demo-1", "rath sign demo-1 --sign ada --by user:ada"],
    load: () => import("../command/sign.js"),
  },
  {
    name: "checkpoint",
    summary: "signs how many facts the store has and which: what is taken away later is then noticed",
    options: [
      SIGN,
      { flags: "-o, --output <file>", text: "also writes it there, to be kept elsewhere" },
      { flags: "--release <why>", text: "gives up the facts that no name leads to, with a reason" },
      BY,
    ],
    examples: [
      "rath checkpoint",
      "rath checkpoint -o monday.checkpoint",
      "rath checkpoint --release 'a draft that nobody needs'",
    ],
    load: () => import("../command/checkpoint.js"),
  },
  {
    name: "prove",
    summary: "writes a proof that a fact is in the newest checkpoint: short, and good without the store",
    arguments: [SESSION],
    options: [
      { flags: "-o, --output <file>", text: "default: stdout" },
      { flags: "--standard", text: "as C2SP's tlog-proof, which other tools read" },
    ],
    examples: ["rath prove demo-1 -o demo-1.proof", "rath verify --proof demo-1.proof 1a2b3c…"],
    load: () => import("../command/prove.js"),
  },
];
