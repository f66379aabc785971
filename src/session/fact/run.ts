import { amount } from "../../util/index.js";
import { fact } from "./family.js";
import { typed } from "./field.js";
import type { Writer } from "./writer.js";

/** The modules that worked, and the order of their work. */
export const run = {
  /** A run starts. */
  "run-start": fact({
    by: "runtime",
    fields: {
      nonce: "text",
      module: "text",
      name: "text?",
      digests: "json?",
      from: "origin?",
      /**
       * On whose behalf the run acts: the person or service that began it, else the one who spoke last before it. A run
       * without this field was recorded by version 0.1: there, "user" also stands for what the program did itself.
       */
      for: "principal?",
      /** When its facts are written to the disk, if not as by default. */
      durability: typed<"facts" | { readonly every: number }>()("json?"),
      /** The file that the process was started with, seen from the folder of the project, if it had no arguments. */
      program: "text?",
    },
    say: ({ module, name, for: whom }, { words }) =>
      `started a run of ${words(module)}${name === undefined ? "" : ` as ${words(name)}`}${whom === undefined ? "" : ` for ${words(whom)}`}`,
  }),
  /** Somebody cancels the run. */
  "run-cancel": fact({
    by: "runtime",
    fields: { of: "id", why: "content text?" },
    say: ({ why: reason }, { why }) => `cancelled the run${why(reason)}`,
    trace: [],
  }),
  /** The run waits for answers. */
  "run-suspend": fact({
    by: "runtime",
    fields: { of: "id", waiting: "ids" },
    say: ({ waiting }, { words }) =>
      `suspended the run until ${Array.isArray(waiting) ? `${amount(waiting.length, "answer")} ${waiting.length === 1 ? "is" : "are"} there` : words(waiting)}`,
    trace: [],
  }),
  /** The run is over. */
  "run-end": fact({
    by: "runtime",
    fields: { of: "id", error: "content failure?" },
    say: ended("ended the run"),
    tone: endTone,
  }),
  /** A module begins. */
  "module-enter": fact({
    by: "runtime",
    fields: { module: "text", digests: "json?" },
    say: ({ module }, { words }) => `entered ${words(module)}`,
    quiet: true,
  }),
  /** A module is over. */
  "module-exit": fact({
    by: "runtime",
    fields: { of: "id", error: "content failure?" },
    say: ended("left the module"),
    tone: endTone,
    quiet: true,
  }),
  /** A selector chooses who goes on. */
  "route-choose": fact({
    by: "agent",
    fields: {
      selector: "text",
      candidates: "candidates",
      chosen: "text or null",
      why: "content text?",
      /** The chooser, the cost of the choice, and the routes that were available. */
      chooser: "text?",
      cost: "number?",
      table: "digest?",
      detail: "content json?",
    },
    say: ({ selector, chosen, why: reason }, { words, why }) =>
      `chose ${words(chosen ?? "none")} for ${words(selector)}${why(reason)}`,
    trace: ["selector", "chosen"],
  }),
  /** An agent takes up a skill. */
  "skill-activate": fact({
    by: "agent",
    fields: { name: "text", source: "text", digest: "digest", instructions: "content text", of: "id?" },
    say: ({ name, source }, { words }) => `activated the skill ${words(name)} from ${words(source)}`,
    trace: ["name"],
  }),
  /** A run may spend so much. */
  "budget-set": fact({
    by: "user",
    fields: { limits: "limits" },
    say: ({ limits }, { words }) => `set a budget: ${words(limits)}`,
    quiet: true,
  }),
  /** A budget is spent. */
  "budget-stop": fact({
    by: "runtime",
    fields: { limit: "text", allowed: "number", spent: "number", asked: "number" },
    say: ({ limit, allowed, spent, asked }, { words }) =>
      `stopped at the limit of ${words(limit)}: ${spent} of ${allowed} spent, ${asked} more asked for`,
    tone: () => "bad",
    trace: ["limit", "allowed", "spent"],
  }),
};

function ended(how: string) {
  return ({ error }: { readonly error?: unknown }, { problem }: Writer): string =>
    error === undefined ? how : `${how} with an error: ${problem(error)}`;
}

function endTone({ error }: { readonly error?: unknown }) {
  return error === undefined ? "plain" : "bad";
}
